"""What is known of container images."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inventory', '0009_nodes_over_ssh'),
    ]

    operations = [
        migrations.CreateModel(
            name='Image',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=320, unique=True)),
                ('size_mib', models.PositiveBigIntegerField(null=True)),
            ],
        ),
    ]
