"""Which starts found their image on the node, and which images are fetched ahead of demand."""

import controlplane.base.clock
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inventory', '0010_images'),
    ]

    operations = [
        migrations.CreateModel(
            name='ImageStart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('image', models.CharField(max_length=320)),
                ('at', models.DateTimeField(default=controlplane.base.clock.now)),
                ('pull_ms', models.PositiveBigIntegerField(null=True)),
                ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='image_starts', to='inventory.node')),
            ],
            options={
                'indexes': [models.Index(fields=['image', 'at'], name='image_start_recent')],
            },
        ),
        migrations.CreateModel(
            name='ImagePush',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('image', models.CharField(max_length=320)),
                ('stage', models.CharField(choices=[('wanted', 'Wanted'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('pruning', 'Pruning'), ('pruned', 'Pruned')], default='wanted', max_length=10)),
                ('wanted_at', models.DateTimeField(default=controlplane.base.clock.now)),
                ('due_at', models.DateTimeField(default=controlplane.base.clock.now)),
                ('asked_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('ms', models.PositiveBigIntegerField(null=True)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('problem', models.CharField(blank=True, max_length=500)),
                ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='image_pushes', to='inventory.node')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('stage', 'running')), fields=['asked_at'], name='image_push_running')],
                'constraints': [models.UniqueConstraint(fields=('node', 'image'), name='image_push_once')],
            },
        ),
    ]
