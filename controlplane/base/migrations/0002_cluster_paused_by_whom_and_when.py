"""Who paused the cluster, and since when."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Both are unknown for a pause that is older."""

    dependencies = [("base", "0001_initial")]

    operations = [
        migrations.AddField("cluster", "paused_by", models.CharField(max_length=150, blank=True, default="")),
        migrations.AddField("cluster", "paused_at", models.DateTimeField(null=True)),
    ]
