"""Places promised to jobs that have waited long."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("inventory", "0001_initial"),
        ("queues", "0005_team_quotas"),
        ("scheduling", "0006_fair_share"),
    ]

    operations = [
        migrations.CreateModel(
            name="Promise",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("replica", models.PositiveIntegerField(default=0)),
                ("starts_at", models.DateTimeField()),
                ("place", models.JSONField()),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="promises", to="queues.job"
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="promises", to="inventory.node"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("job", "replica"), name="promise_once")],
            },
        ),
    ]
