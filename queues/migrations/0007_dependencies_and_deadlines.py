"""Jobs that wait for the end of others, back off between retries, and must be over by a moment."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):

    dependencies = [
        ("queues", "0006_holds"),
    ]

    operations = [
        migrations.AddField(model_name="job", name="latest_finish", field=models.DateTimeField(null=True)),
        migrations.AddField(model_name="job", name="not_before", field=models.DateTimeField(null=True)),
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
                    ("dependency", "Dependency"),
                    ("deadline", "Deadline"),
                    ("requeued", "Requeued"),
                ],
                max_length=15,
                null=True,
            ),
        ),
        migrations.CreateModel(
            name="Dependency",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "ends",
                    models.CharField(
                        choices=[("ok", "ok"), ("failed", "failed"), ("any", "any")], max_length=6
                    ),
                ),
                ("met_at", models.DateTimeField(null=True)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="dependencies", to="queues.job"
                    ),
                ),
                (
                    "on",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="dependants", to="queues.job"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(condition=Q(met_at=None), fields=["on"], name="dependency_open")],
                "constraints": [models.UniqueConstraint(fields=("job", "on"), name="dependency_once")],
            },
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=Q(
                    latest_finish__isnull=False,
                    status__in=(
                        "held", "pending", "starting", "running", "suspending", "suspended", "preempting",
                    ),
                ),
                fields=["latest_finish"],
                name="job_due",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(condition=Q(held_for="back-off"), fields=["not_before"], name="job_backing_off"),
        ),
    ]
