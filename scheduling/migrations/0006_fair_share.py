"""What teams have had of late, and what every placement books, also after it ended."""

import django.db.models.deletion
from django.db import migrations, models

BOOKED = """
UPDATE scheduling_placement AS placement SET device_milli = booked.milli
FROM (SELECT placement_id, sum(compute_milli) AS milli FROM scheduling_slice GROUP BY 1) AS booked
WHERE booked.placement_id = placement.id
"""


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0001_initial"),
        ("queues", "0005_team_quotas"),
        ("scheduling", "0005_borrowed_placements"),
    ]

    operations = [
        migrations.AddField(
            model_name="placement",
            name="device_milli",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.RunSQL(BOOKED, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="placement",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", False)), fields=["ended_at"], name="placement_ended"
            ),
        ),
        migrations.CreateModel(
            name="UsageCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("until", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="TeamUsage",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("device_milli_ms", models.DecimalField(decimal_places=0, default=0, max_digits=30)),
                ("core_milli_ms", models.DecimalField(decimal_places=0, default=0, max_digits=30)),
                ("share_ppm", models.PositiveBigIntegerField(default=0)),
                (
                    "queue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="usages", to="queues.queue"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="usages", to="accounts.team"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("queue", "team"), name="team_usage_once")],
            },
        ),
    ]
