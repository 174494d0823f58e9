"""Arrays of jobs."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

import controlplane.base.clock


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("queues", "0007_dependencies_and_deadlines"),
    ]

    operations = [
        migrations.CreateModel(
            name="JobArray",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200)),
                ("tasks", models.PositiveIntegerField()),
                ("at_once", models.PositiveIntegerField(null=True)),
                ("submitted_at", models.DateTimeField(default=controlplane.base.clock.now)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="arrays",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "queue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="arrays", to="queues.queue"
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="arrays", to="accounts.team"
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["team", "-id"], name="array_team_recent")]},
        ),
        migrations.AddField(
            model_name="job",
            name="array",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="jobs",
                to="queues.jobarray",
            ),
        ),
        migrations.AddField(model_name="job", name="array_index", field=models.PositiveIntegerField(null=True)),
        migrations.AddField(model_name="job", name="has_slot", field=models.BooleanField(default=True)),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=Q(array__isnull=False), fields=["array", "array_index"], name="job_of_array"
            ),
        ),
    ]
