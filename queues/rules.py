"""What the active policy says about requests, as queues.spec reads it."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from controlplane.policy.document import FilterType, PolicyDocument, QueueSpec, ResourceFilter
from controlplane.policy.reading import read_document
from queues.spec import KeyMeaning, QueueRules, ResourceKey, SpecRules


def spec_rules(document: PolicyDocument) -> SpecRules:
    """Queues in the policy's order and the resource keys it accepts."""
    queues = {spec.name: _presumed(spec) for spec in document.queue_policy.queues}
    return SpecRules(queues=queues, keys=[_key(item) for item in document.resource_filters])


def _presumed(spec: QueueSpec) -> QueueRules:
    """What the queue says, else what the queue of its name says in the defaults, else no."""
    known = _default_queues().get(spec.name)
    return QueueRules(
        splittable=bool(
            spec.splittable if spec.splittable is not None or known is None else known.splittable
        ),
        shareable=bool(spec.shareable if spec.shareable is not None or known is None else known.shareable),
    )


@functools.cache
def _default_queues() -> Mapping[str, QueueSpec]:
    return {spec.name: spec for spec in read_document("scheduler: {}").queue_policy.queues}


def _key(item: ResourceFilter) -> ResourceKey:
    meaning = KeyMeaning.MODEL if item.type is FilterType.ACCELERATOR else KeyMeaning.MEMORY
    return ResourceKey(item.key, meaning, values=item.values)
