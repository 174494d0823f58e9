"""Slices of partitioned devices."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0002_late_reports"),
    ]

    operations = [
        migrations.AddField(
            model_name="device",
            name="parent",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="partitions",
                to="inventory.device",
            ),
        ),
        migrations.AddField(
            model_name="device",
            name="compute_milli",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="device",
            name="memory_group",
            field=models.PositiveIntegerField(null=True),
        ),
    ]
