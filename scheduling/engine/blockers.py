"""Which promise is in the way of a job that found no place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from scheduling.engine.claims import Claim, open_lines
from scheduling.engine.planner import Planner
from scheduling.engine.types import NearMiss, ReasonCode, Refusal, Reservation

Lift = Callable[[], None]


def in_the_way(
    planner: Planner, claims: Iterable[Claim], promises: Sequence[tuple[Reservation, Lift]], own: int | None
) -> dict[object, Reservation]:
    """By the key of each claim that would start if nothing were promised: one after the other of the promises goes, and
    that is the one without which it starts. That of the job `own` is in nobody's way.
    """
    mark = planner.checkpoint()
    for _place, lift in promises:
        lift()
    waiting = {claim.key: claim for claim in claims}
    waiting = {key: claim for key, claim in waiting.items() if _would_start(planner, claim)}
    planner.roll_back(mark)
    found: dict[object, Reservation] = {}
    for place, lift in sorted(promises, key=lambda one: one[0].job != own) if waiting else ():
        lift()
        if place.job != own:
            found |= {key: place for key, claim in waiting.items() if _would_start(planner, claim)}
            waiting = {key: claim for key, claim in waiting.items() if key not in found}
    planner.roll_back(mark)
    return found


def waits_for(refusal: Refusal, place: Reservation) -> Refusal:
    """The same nodes, and of those that would have taken the job one that is kept."""
    near = NearMiss(place.node, ReasonCode.RESERVED, place.job, 0)
    return replace(
        refusal, code=ReasonCode.RESERVED, near=(near, *refusal.near), waits_for=place.job, cap=None
    )


def has_room(planner: Planner, claim: Claim) -> bool:
    """Whether some node takes a replica, whoever asks."""
    return bool(planner.board(claim.shape).candidates(planner.room_uw()).any())


def _would_start(planner: Planner, claim: Claim) -> bool:
    # A queue that held nothing but promises has no caps of its own without them.
    claim = planner.claim(claim.job, borrows=claim.borrows)
    if not has_room(planner, claim):
        return False
    if claim.job.replicas == 1:
        board = planner.board(claim.shape)
        lines = open_lines(claim, board, planner.quotas)
        return lines is None or bool((lines & board.candidates(planner.room_uw())).any())
    mark = planner.checkpoint()
    placed = planner.all_or_none(claim)
    planner.roll_back(mark)
    return placed is not None
