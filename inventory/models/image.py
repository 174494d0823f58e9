"""What is known of container images, whichever nodes have them."""

from __future__ import annotations

from django.db import models


class Image(models.Model):
    """One image by its full name (inventory.images.names); `size_mib` is the largest that a node told."""

    name = models.CharField(max_length=320, unique=True)
    size_mib = models.PositiveBigIntegerField(null=True)
