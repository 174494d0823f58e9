"""Named forms of requests per team, and the name of the one that a job was made from."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import controlplane.base.clock


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("queues", "0011_job_names"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="JobTemplate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("description", models.CharField(blank=True, max_length=500)),
                ("spec", models.JSONField()),
                ("changed_at", models.DateTimeField(default=controlplane.base.clock.now)),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="templates",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="templates", to="accounts.team"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("team", "name"), name="job_template_once"),
                ],
            },
        ),
        # The default stays in the database, so that servers of the version before can go on inserting.
        migrations.AddField(
            model_name="job",
            name="template",
            field=models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("status", "succeeded"), models.Q(("template", ""), _negated=True)),
                fields=["team", "queue", "template", "finished_at"],
                name="job_template_times",
            ),
        ),
    ]
