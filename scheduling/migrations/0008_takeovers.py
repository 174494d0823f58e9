"""Whom placements yield to, and whole places kept for those."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("inventory", "0001_initial"),
        ("queues", "0005_team_quotas"),
        ("scheduling", "0007_promises"),
    ]

    operations = [
        migrations.AddField(
            model_name="placement",
            name="yields_to",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="victims",
                to="queues.job",
            ),
        ),
        migrations.AddField(
            model_name="placement",
            name="spared_until",
            field=models.DateTimeField(null=True),
        ),
        migrations.DeleteModel(name="Hold"),
        migrations.CreateModel(
            name="Hold",
            fields=[
                (
                    "id",
                    models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                ),
                ("replica", models.PositiveIntegerField(default=0)),
                ("place", models.JSONField()),
                ("until", models.DateTimeField()),
                (
                    "beneficiary",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="holds", to="queues.job"
                    ),
                ),
                (
                    "node",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="holds", to="inventory.node"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("beneficiary", "replica"), name="hold_once"),
                ],
            },
        ),
    ]
