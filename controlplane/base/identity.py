"""Which cluster this database is."""

from __future__ import annotations

from controlplane.base.models import Cluster


def this_cluster() -> Cluster:
    """The one row, made on first use."""
    return Cluster.objects.filter(pk=1).first() or Cluster.objects.get_or_create(pk=1)[0]
