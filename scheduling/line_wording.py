"""Sentences about the place of a job in the order of service, in the language now active."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from scheduling.engine.ordering import Precedence
from scheduling.engine.types import PPM, ReasonCode
from scheduling.wording import SENTENCES, Sentence

FIRST = "first"
TEXTS: Mapping[str, str | Promise] = {
    FIRST: _("First in line of %(waiting)s waiting jobs."),
    Precedence.UNKNOWN_QUEUE: _("Place %(place)s of %(waiting)s: its queue is not known to the scheduler."),
    Precedence.QUEUE_PRIORITY: _(
        "Place %(place)s of %(waiting)s: the queue of the job before it has the higher priority (%(theirs)s, its own "
        "%(mine)s)."
    ),
    Precedence.PRIORITY: _(
        "Place %(place)s of %(waiting)s: the job before it has the higher priority (%(theirs)s, its own %(mine)s)."
    ),
    Precedence.FAIR_SHARE: _(
        "Place %(place)s of %(waiting)s: the team of the job before it has had less of the cluster of late "
        "(%(theirs)s, its own %(mine)s)."
    ),
    Precedence.RUN_TIME: _(
        "Place %(place)s of %(waiting)s: the job before it was submitted later, but should run for a shorter time "
        "(%(theirs)s min, its own %(mine)s min)."
    ),
    Precedence.AGE: _("Place %(place)s of %(waiting)s: the job before it was submitted earlier."),
    Precedence.NUMBER: _(
        "Place %(place)s of %(waiting)s: the job before it was submitted at the same time and has the lower number."
    ),
}


def reserved_sentence(job: int) -> Sentence:
    """There would be room, were it not kept for that job."""
    text = str(SENTENCES[ReasonCode.RESERVED][0]) % {"needed": job}
    return Sentence(ReasonCode.RESERVED.value, text, {"job": job})


def share_text(share_ppm: int) -> str:
    """A share for people, in per cent with one decimal."""
    return f"{share_ppm * 100 / PPM:.1f} %"


def line_sentence(code: str, params: Mapping[str, Any]) -> Sentence:
    """Why a job stands where it stands; of shares `params` has ppm."""
    shown = dict(params)
    if code == Precedence.FAIR_SHARE:
        shown |= {name: share_text(params[name]) for name in ("mine", "theirs")}
    return Sentence(f"line-{code}", str(TEXTS[code]) % shown, params)
