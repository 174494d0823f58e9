"""Sentences about the caps of queues, teams and members, in the language now active."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from scheduling.engine.quota import CODES
from scheduling.engine.types import WHOLE_MILLI, CapKind, CapMiss
from scheduling.wording import Sentence

Text = str | Promise
# Of a queue's devices, of one model of them, of its cores.
QUEUE: tuple[Text, Text, Text] = (
    _("Devices that queue %(queue)s may hold: %(cap)s. It holds %(held)s, and this job needs %(asked)s."),
    _(
        "Devices %(model)s that queue %(queue)s may hold: %(cap)s. It holds %(held)s, and this job needs %(asked)s."
    ),
    _(
        "Cores that jobs without devices may hold in queue %(queue)s: %(cap)s. They hold %(held)s, and this job needs "
        "%(asked)s."
    ),
)
TEAM: tuple[Text, Text] = (
    _(
        "Devices that team %(team)s may hold in queue %(queue)s: %(cap)s. It holds %(held)s, and this job needs "
        "%(asked)s."
    ),
    _(
        "Devices %(model)s that team %(team)s may hold in queue %(queue)s: %(cap)s. It holds %(held)s, and this job "
        "needs %(asked)s."
    ),
)
MEMBER: tuple[Text, Text] = (
    _(
        "Devices that %(owner)s may hold for team %(team)s in queue %(queue)s: %(cap)s. Held are %(held)s, and this "
        "job needs %(asked)s."
    ),
    _(
        "Devices %(model)s that %(owner)s may hold for team %(team)s in queue %(queue)s: %(cap)s. Held are %(held)s, "
        "and this job needs %(asked)s."
    ),
)
# Why more is held than a cap allows; a queue may have several reasons, which its placements do not tell apart.
OVER_QUEUE = _(
    "It holds more than that, which ends nothing: a queue that holds nothing may start one job of any size, may borrow "
    "where the policy lets it, and keeps what it held when its cap became smaller."
)
OVER_AMOUNT = _(
    "It is more because the amount was lowered after those jobs had started, which ends none of them."
)
TEXTS: Mapping[CapKind, tuple[Text, ...]] = {
    CapKind.QUEUE: QUEUE,
    CapKind.TEAM: TEAM,
    CapKind.MEMBER: MEMBER,
}


@dataclass(frozen=True)
class Names:
    """What people call the queue, the team and the member of a cap."""

    queue: str
    team: str = ""
    owner: str = ""


def milli_text(milli: int) -> str:
    """Thousandths for people: 3500 is 3.5."""
    return f"{(Decimal(milli) / WHOLE_MILLI).normalize():f}"


def cap_sentence(miss: CapMiss, names: Names) -> Sentence:
    """Which cap keeps a job waiting, with its arithmetic."""
    text = TEXTS[miss.kind][2 if miss.of_cores else int(miss.model is not None)]
    params = {
        "queue": names.queue,
        "team": names.team,
        "owner": names.owner,
        "model": miss.model,
        "cap_milli": miss.cap_milli,
        "held_milli": miss.held_milli,
        "asked_milli": miss.asked_milli,
    }
    shown = {
        **params,
        "cap": milli_text(miss.cap_milli),
        "held": milli_text(miss.held_milli),
        "asked": milli_text(miss.asked_milli),
    }
    said = str(text) % shown
    if miss.held_milli > miss.cap_milli:
        said = _joined(said, str(OVER_QUEUE if miss.kind is CapKind.QUEUE else OVER_AMOUNT))
    return Sentence(CODES[miss.kind].value, said, params)


def _joined(first: str, second: str) -> str:
    """Two sentences; Chinese has no space between them."""
    return first + second if first.endswith("。") else f"{first} {second}"
