"""Nodes without an agent on which images are fetched ahead of demand; and what was asked for within an hour."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inventory', '0012_image_push_why'),
    ]

    operations = [
        migrations.AddField(
            model_name='remotehost',
            name='fetches_images',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name='imagepush',
            index=models.Index(fields=['asked_at'], name='image_push_asked'),
        ),
        migrations.RemoveIndex(
            model_name='imagepush',
            name='image_push_running',
        ),
    ]
