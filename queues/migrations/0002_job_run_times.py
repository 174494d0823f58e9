from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('queues', '0001_initial'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='job',
            index=models.Index(condition=models.Q(('status', 'succeeded')), fields=['team', 'queue', 'name', 'finished_at'], name='job_run_times'),
        ),
    ]
