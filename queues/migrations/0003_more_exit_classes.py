"""Attempts that ended because of a failed device or an emptied node."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("queues", "0002_job_run_times"),
    ]

    operations = [
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
                ],
                max_length=15,
                null=True,
            ),
        ),
    ]
