"""Jobs of several replicas that start together."""

from django.db import migrations, models
from django.db.models import Q

LIVE = ("held", "pending", "starting", "running", "suspending", "suspended", "preempting")


class Migration(migrations.Migration):

    dependencies = [
        ("queues", "0009_windows"),
    ]

    operations = [
        migrations.AddField(model_name="job", name="replicas", field=models.PositiveIntegerField(default=1)),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=Q(replicas__gt=1, status__in=LIVE), fields=["status"], name="job_live_gang"
            ),
        ),
    ]
