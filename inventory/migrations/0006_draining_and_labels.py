"""Until when a node is emptied, and the labels that operators give it."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("inventory", "0005_history"),
    ]

    operations = [
        migrations.AddField(
            model_name="node",
            name="drain_deadline",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="node",
            name="own_labels",
            field=models.JSONField(default=dict),
        ),
    ]
