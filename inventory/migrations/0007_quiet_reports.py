"""What the last report said that changed nothing."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inventory", "0006_draining_and_labels")]

    operations = [
        migrations.AddField("nodecontact", "said", models.CharField(blank=True, max_length=64, default=""), preserve_default=False),
        migrations.AddField("nodecontact", "standing", models.CharField(blank=True, max_length=32, default=""), preserve_default=False),
    ]
