"""Sentences about what holds a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from queues.derive import Gate, held_code
from queues.models import Job
from scheduling.wording import Sentence, Text

SENTENCES: Mapping[Gate, Text] = {
    Gate.PERSON: _("It is held until somebody releases it."),
}


def held_sentence(job: Job) -> Sentence:
    """Why a held job does not wait for a place."""
    gate = Gate(job.held_for)
    params: dict[str, Any] = {}
    return Sentence(held_code(gate), str(SENTENCES[gate]) % params, params)
