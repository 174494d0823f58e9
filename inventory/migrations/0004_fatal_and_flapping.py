"""How a device lost its trust, and whether it does so again and again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0003_partitions"),
    ]

    operations = [
        migrations.AddField(
            model_name="device",
            name="fatal",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="device",
            name="flapping",
            field=models.BooleanField(default=False),
        ),
    ]
