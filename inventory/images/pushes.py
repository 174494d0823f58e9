"""Which nodes fetch which images ahead of demand, and which give them up again; the only writer of ImagePush rows.

An order is a lease: a node that asks again before it answered gets the same order, and one that fell silent loses its
place among those that fetch at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet

from agent.protocol import ImageAction, ImageResult
from controlplane.base import clock
from controlplane.base.texts import without_control_characters
from controlplane.policy.document import ImageWarming
from inventory.images.names import canonical
from inventory.images.secrets import used_for
from inventory.images.sizes import sizes_of
from inventory.models import ImagePush, PushState, PushWhy

LEASE = timedelta(hours=1)
RATE_TIME = timedelta(hours=1)
# So much an image counts whose size no node told yet.
UNKNOWN_MIB = 4096
FIRST_BACKOFF = timedelta(minutes=2)
MOST_FAILURES = 5
_NOT_NOW = (PushState.WANTED, PushState.FAILED)
# What was fetched by our wish; it stays there while it is fetched anew, or that fails.
_THERE = Q(stage=PushState.DONE) | Q(stage__in=_NOT_NOW, ms__isnull=False)
MOST_PRUNED_AT_ONCE = 20
LARGEST_MS = 2**40
LOCK = 7_226_001


def want(
    pairs: Iterable[tuple[int, str]],
    *,
    here: Mapping[int, Collection[str]],
    why: PushWhy = PushWhy.USUAL,
) -> int:
    """Have these images on these nodes (id, name) where they are not `here` already, and keep there what was fetched by
    our wish; how many are new. What a person would have gone does not come back because it was usual.
    """
    now = clock.now()
    known = set(ImagePush.objects.values_list("node_id", "image"))
    wanted = {(node, canonical(image)) for node, image in pairs}
    if why is PushWhy.USUAL:
        wanted -= set(_declined().values_list("node_id", "image"))
    asked = sorted(pair for pair in wanted if pair in known or pair[1] not in here.get(pair[0], ()))
    rows = [ImagePush(node_id=node, image=image, wanted_at=now, due_at=now, why=why) for node, image in asked]
    ImagePush.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["node", "image"], update_fields=["wanted_at", "why"]
    )
    again = {"stage": PushState.WANTED, "due_at": now, "failures": 0, "problem": ""}
    stages = [PushState.PRUNED, PushState.PRUNING]
    if why is PushWhy.PERSON:
        stages += [PushState.FAILED, PushState.DONE]
    ImagePush.objects.filter(wanted_at=now, why=why, stage__in=stages).update(**again)
    return len(set(asked) - known)


def decline(nodes: Collection[int], image: str) -> set[int]:
    """Have an image gone from nodes where it was fetched by our wish, and fetch it no more where it was not yet; the
    nodes on which there is something to do.
    """
    now = clock.now()
    own = ImagePush.objects.filter(node_id__in=nodes, image=canonical(image))
    there = own.filter(_THERE)
    with transaction.atomic():
        found = set(there.values_list("node_id", flat=True))
        changes = {"why": PushWhy.PERSON, "wanted_at": now, "problem": ""}
        there.update(stage=PushState.PRUNING, **changes)
        not_yet = own.filter(stage__in=_NOT_NOW)
        found |= set(not_yet.values_list("node_id", flat=True))
        not_yet.update(stage=PushState.PRUNED, **changes)
    return found


def _declined() -> QuerySet[ImagePush]:
    return ImagePush.objects.filter(why=PushWhy.PERSON, stage__in=(PushState.PRUNING, PushState.PRUNED))


def refresh_old(warming: ImageWarming) -> int:
    """Let what is still wanted be fetched anew, since a tag may name another image by now; how many."""
    now = clock.now()
    old = ImagePush.objects.filter(
        stage=PushState.DONE,
        ended_at__lt=now - timedelta(hours=warming.refresh_hours),
        wanted_at__gte=now - timedelta(hours=1),
    )
    return old.exclude(image__contains="@sha256:").update(stage=PushState.WANTED, due_at=now)


def give_up_unwanted(warming: ImageWarming) -> int:
    """Mark for removal what nobody wanted for long; only what was fetched by our wish is ever here."""
    unwanted = Q(wanted_at__lt=clock.now() - timedelta(days=warming.prune_after_days))
    ImagePush.objects.filter(unwanted, stage__in=_NOT_NOW, ms=None).delete()
    _declined().filter(unwanted, stage=PushState.PRUNED).delete()
    return ImagePush.objects.filter(_THERE, unwanted).update(stage=PushState.PRUNING)


def nodes_with_work(nodes: Collection[int]) -> list[int]:
    """Those of these nodes (ids) for which there may be orders."""
    stages = (PushState.WANTED, PushState.RUNNING, PushState.PRUNING)
    rows = ImagePush.objects.filter(node_id__in=nodes, stage__in=stages)
    return sorted(set(rows.values_list("node_id", flat=True)))


def fetched_before(node: int) -> frozenset[str]:
    """Images that this node fetched by our wish."""
    rows = ImagePush.objects.filter(node_id=node, ms__isnull=False)
    return frozenset(rows.values_list("image", flat=True))


def fetched_with(node: int, secret: str) -> list[str]:
    """The images that this node was told to fetch with this registry's secret."""
    running = ImagePush.objects.filter(node_id=node, stage=PushState.RUNNING).values_list("image", flat=True)
    return [image for image, name in used_for(list(running)).items() if name == secret]


def next_orders(node: int, warming: ImageWarming) -> tuple[list[str], list[str]]:
    """What this node is to fetch now (one image at most) and to remove."""
    own = ImagePush.objects.filter(node_id=node)
    removing = list(own.filter(stage=PushState.PRUNING).order_by("pk")[:MOST_PRUNED_AT_ONCE])
    prune = [push.image for push in removing]
    if not warming.enabled:
        return [], prune
    if not own.filter(stage__in=(PushState.WANTED, PushState.RUNNING)).exists():
        return [], prune
    with transaction.atomic():
        # Who asks at the same time waits here, so that no more fetch together than may.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        return _next_pull(node, warming), prune


def _next_pull(node: int, warming: ImageWarming) -> list[str]:
    now = clock.now()
    own = ImagePush.objects.filter(node_id=node)
    running = own.filter(stage=PushState.RUNNING).order_by("pk").first()
    if running is None:
        busy = ImagePush.objects.filter(stage=PushState.RUNNING, asked_at__gte=now - LEASE).count()
        if busy >= warming.at_once:
            return []
        running = own.filter(stage=PushState.WANTED, due_at__lte=now).order_by("due_at", "pk").first()
        if running is not None and not _within_rate(running.image, warming):
            return []
    if running is None:
        return []
    ImagePush.objects.filter(pk=running.pk).update(stage=PushState.RUNNING, asked_at=now)
    return [running.image]


def _within_rate(image: str, warming: ImageWarming) -> bool:
    """Whether what all nodes were told to fetch within an hour, and this image, is no more than may be. The first of an
    hour always goes: else the largest would never.
    """
    lately = ImagePush.objects.filter(asked_at__gte=clock.now() - RATE_TIME)
    told = list(
        lately.exclude(stage__in=(PushState.PRUNING, PushState.PRUNED)).values_list("image", flat=True)
    )
    sizes = sizes_of({*told, image})
    mib = sum(sizes.get(one, UNKNOWN_MIB) for one in told)
    return not told or mib + sizes.get(image, UNKNOWN_MIB) <= warming.mib_per_hour


def take_results(node: int, results: Sequence[ImageResult]) -> None:
    """Note how orders ended; an answer to none changes nothing."""
    for result in results:
        image = without_control_characters(result.image)[:320]
        own = ImagePush.objects.filter(node_id=node, image=image)
        if result.action is ImageAction.PULL:
            _pulled(own.filter(stage=PushState.RUNNING).first(), result)
        else:
            ended = {"stage": PushState.PRUNED, "ms": None} if result.ok else {"stage": PushState.DONE}
            own.filter(stage=PushState.PRUNING).update(**ended, problem=_problem(result))


def _pulled(push: ImagePush | None, result: ImageResult) -> None:
    if push is None:
        return
    now, ms = clock.now(), result.ms
    rows = ImagePush.objects.filter(pk=push.pk)
    if not result.ours:
        rows.delete()
        return
    known_ms = ms if ms is not None and 0 <= ms <= LARGEST_MS else None
    if result.ok:
        rows.update(stage=PushState.DONE, ended_at=now, ms=known_ms, failures=0, problem="")
        return
    failed = push.failures + 1 >= MOST_FAILURES
    rows.update(
        stage=PushState.FAILED if failed else PushState.WANTED,
        ended_at=now,
        due_at=now + FIRST_BACKOFF * 2**push.failures,
        failures=F("failures") + 1,
        problem=_problem(result),
    )


def _problem(result: ImageResult) -> str:
    return without_control_characters(result.problem)[:500]
