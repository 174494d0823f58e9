"""Caps on single models, and a count of the changes of what a queue's jobs may hold."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("queues", "0003_more_exit_classes"),
    ]

    operations = [
        migrations.AddField(
            model_name="queue",
            name="model_caps_ppm",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="queue",
            name="revision",
            field=models.PositiveBigIntegerField(default=0),
        ),
    ]
