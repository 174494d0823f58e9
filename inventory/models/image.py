"""What is known of container images: their sizes, which starts found them on the node, and which are fetched ahead."""

from __future__ import annotations

from django.db import models

from controlplane.base import clock
from inventory.models.node import Node


class Image(models.Model):
    """One image by its full name (inventory.images.names); `size_mib` is the largest that a node told, `secret` names
    the registry's secret that it was last asked for with.
    """

    name = models.CharField(max_length=320, unique=True)
    size_mib = models.PositiveBigIntegerField(null=True)
    secret = models.CharField(max_length=64, blank=True, default="", db_default="")


class ImageStart(models.Model):
    """A container that started on a node. `pull_ms` is what the fetching of its image took; null when it was there."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="image_starts")
    image = models.CharField(max_length=320)
    at = models.DateTimeField(default=clock.now)
    pull_ms = models.PositiveBigIntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["image", "at"], name="image_start_recent")]


class PushState(models.TextChoices):
    """How far the fetching of an image ahead of demand is; PRUNING: it is to be removed again."""

    WANTED = "wanted"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    PRUNING = "pruning"
    PRUNED = "pruned"


class PushWhy(models.TextChoices):
    """Who last wanted an image on a node, or would have it gone: a waiting job, history, or a person."""

    WAITING = "waiting"
    USUAL = "usual"
    PERSON = "person"


class ImagePush(models.Model):
    """An image that a node fetches, fetched, or removed again by our wish. `wanted_at` is when somebody last wanted it
    there, `due_at` when it may be asked for, `asked_at` when the node was last told to.
    """

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="image_pushes")
    image = models.CharField(max_length=320)
    stage = models.CharField(max_length=10, choices=PushState, default=PushState.WANTED)
    why = models.CharField(max_length=10, choices=PushWhy, default=PushWhy.USUAL)
    wanted_at = models.DateTimeField(default=clock.now)
    due_at = models.DateTimeField(default=clock.now)
    asked_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ms = models.PositiveBigIntegerField(null=True)
    failures = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "image"], name="image_push_once")]
        indexes = [models.Index(fields=["asked_at"], name="image_push_asked")]
