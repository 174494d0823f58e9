"""Policies that whole instances are tested under."""

# Small clusters are soon beyond a half: only tests that are about quotas have them.
QUEUES = (
    "queue-policy: {queues: [{name: inference, priority: 100}, {name: training, priority: 70}, "
    "{name: offline, priority: 30, preemptable: true}]}"
)
UNCAPPED = f"scheduler: {{{QUEUES}}}"
