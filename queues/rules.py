"""What the active policy says about requests, as queues.spec reads it."""

from __future__ import annotations

from controlplane.policy.document import FilterType, PolicyDocument, ResourceFilter
from queues.spec import DEFAULT_RULES, KeyMeaning, QueueRules, ResourceKey, SpecRules


def spec_rules(document: PolicyDocument) -> SpecRules:
    """Queues in the policy's order and the resource keys it accepts."""
    queues = {spec.name: DEFAULT_RULES.get(spec.name, QueueRules()) for spec in document.queue_policy.queues}
    return SpecRules(queues=queues, keys=[_key(item) for item in document.resource_filters])


def _key(item: ResourceFilter) -> ResourceKey:
    meaning = KeyMeaning.MODEL if item.type is FilterType.ACCELERATOR else KeyMeaning.MEMORY
    return ResourceKey(item.key, meaning, values=item.values)
