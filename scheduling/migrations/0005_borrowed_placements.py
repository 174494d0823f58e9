"""Placements beyond the cap of their queue are marked."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("scheduling", "0004_imported_jobs"),
    ]

    operations = [
        migrations.AddField(
            model_name="placement",
            name="borrowed",
            field=models.BooleanField(default=False),
        ),
    ]
