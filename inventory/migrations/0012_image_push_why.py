"""Why an image is wanted on a node."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inventory', '0011_image_pushes'),
    ]

    operations = [
        migrations.AddField(
            model_name='imagepush',
            name='why',
            field=models.CharField(choices=[('waiting', 'Waiting'), ('usual', 'Usual'), ('person', 'Person')], default='usual', max_length=10),
        ),
    ]
