"""Which registry's secret an image is fetched with, by name."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inventory', '0013_images_over_ssh'),
    ]

    operations = [
        migrations.AddField(
            model_name='image',
            name='secret',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
    ]
