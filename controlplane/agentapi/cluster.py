"""Which cluster this is, as agents are told."""

from __future__ import annotations

from controlplane.base.models import Cluster


def cluster_uid() -> str:
    """The id of the cluster this database is; made at the first question."""
    uid = Cluster.objects.filter(pk=1).values_list("uid", flat=True).first()
    return str(uid or Cluster.objects.get_or_create(id=1)[0].uid)
