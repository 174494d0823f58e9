"""Jobs that wait for the valley window, and since when the cluster has been idle."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):

    dependencies = [
        ("queues", "0008_arrays"),
    ]

    operations = [
        migrations.CreateModel(
            name="Lull",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("since", models.DateTimeField()),
            ],
        ),
        migrations.AddField(model_name="job", name="deferrable", field=models.BooleanField(default=False)),
        migrations.AddField(model_name="job", name="deferred", field=models.BooleanField(default=False)),
        migrations.AddField(model_name="job", name="latest_start", field=models.DateTimeField(null=True)),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=Q(deferrable=True, status__in=("held", "pending")),
                fields=["latest_start"],
                name="job_deferrable",
            ),
        ),
    ]
