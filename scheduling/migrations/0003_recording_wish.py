"""The wish to have the next cycle recorded."""

from __future__ import annotations

from django.db import migrations, models

import controlplane.base.clock


class Migration(migrations.Migration):
    """One table with at most one row."""

    dependencies = [("scheduling", "0002_recordings_pulses_pauses")]

    operations = [
        migrations.CreateModel(
            "RecordingWish",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("actor", models.CharField(max_length=150)),
                ("since", models.DateTimeField(default=controlplane.base.clock.now)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="recording_wish_single_row")
                ]
            },
        )
    ]
