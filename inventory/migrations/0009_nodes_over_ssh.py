"""Ways to nodes without an agent."""

import controlplane.base.clock
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inventory', '0008_digest_names'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RemoteHost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.CharField(max_length=253)),
                ('port', models.PositiveIntegerField(default=22)),
                ('user', models.CharField(max_length=64)),
                ('key', models.CharField(max_length=64)),
                ('host_key', models.TextField()),
                ('created_at', models.DateTimeField(default=controlplane.base.clock.now)),
                ('due_at', models.DateTimeField(db_index=True, default=controlplane.base.clock.now)),
                ('claim', models.CharField(blank=True, max_length=32)),
                ('tried_at', models.DateTimeField(null=True)),
                ('answered_at', models.DateTimeField(null=True)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('problem', models.CharField(blank=True, choices=[('unreachable', 'Unreachable'), ('timed-out', 'Timed Out'), ('not-ssh', 'Not Ssh'), ('host-key-changed', 'Host Key Changed'), ('key-missing', 'Key Missing'), ('key-unusable', 'Key Unusable'), ('key-refused', 'Key Refused'), ('connection-lost', 'Connection Lost'), ('too-much-output', 'Too Much Output'), ('not-understood', 'Not Understood'), ('no-machine-id', 'No Machine Id'), ('machine-changed', 'Machine Changed'), ('same-machine', 'Same Machine'), ('has-agent', 'Has Agent')], max_length=20)),
                ('problem_detail', models.CharField(blank=True, max_length=500)),
                ('host_read_at', models.DateTimeField(null=True)),
                ('memory', models.TextField(blank=True)),
                ('paused', models.JSONField(default=dict)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('node', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='remote', to='inventory.node')),
                ('node_set', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='inventory.nodeset')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('address', 'port'), name='remote_host_once'), models.CheckConstraint(condition=models.Q(('port__gte', 1), ('port__lte', 65535)), name='remote_host_port_possible')],
            },
        ),
    ]
