"""How each replica of a gang ended, and whether it made the checkpoint that was asked for."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("scheduling", "0008_takeovers"),
    ]

    operations = [
        migrations.AddField(
            model_name="placement",
            name="ending",
            field=models.CharField(blank=True, default="", max_length=15),
        ),
        migrations.AddField(
            model_name="placement", name="failed_devices", field=models.JSONField(default=list)
        ),
        migrations.AddField(model_name="placement", name="saved_at", field=models.DateTimeField(null=True)),
    ]
