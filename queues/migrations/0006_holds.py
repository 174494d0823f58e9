"""Jobs that are held, by what and since when, and attempts that were queued again."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):

    dependencies = [
        ("queues", "0005_team_quotas"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="held_for",
            field=models.CharField(blank=True, default="", max_length=10),
        ),
        migrations.AddField(
            model_name="job",
            name="held_since",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="job",
            name="on_hold",
            field=models.BooleanField(default=False),
        ),
        migrations.AlterField(
            model_name="job",
            name="exit_class",
            field=models.CharField(
                choices=[
                    ("success", "Success"),
                    ("exit-code", "Exit Code"),
                    ("signal", "Signal"),
                    ("start-failed", "Start Failed"),
                    ("time-limit", "Time Limit"),
                    ("cancelled", "Cancelled"),
                    ("node-lost", "Node Lost"),
                    ("device-failed", "Device Failed"),
                    ("drained", "Drained"),
                    ("lost-process", "Lost Process"),
                    ("requeued", "Requeued"),
                ],
                max_length=15,
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=(Q(status="held") & ~Q(held_for="")) | (~Q(status="held") & Q(held_for="")),
                name="job_held_for_something",
            ),
        ),
    ]
