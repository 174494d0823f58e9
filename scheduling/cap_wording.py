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
    return Sentence(CODES[miss.kind].value, str(text) % shown, params)
