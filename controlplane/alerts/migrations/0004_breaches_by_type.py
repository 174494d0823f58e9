from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerts', '0003_acknowledge_and_silence'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='breach',
            name='breach_once',
        ),
        # Nothing of worth is lost: the times of what is beyond a limit begin anew.
        migrations.RunSQL('DELETE FROM alerts_breach', migrations.RunSQL.noop),
        migrations.AddField(
            model_name='breach',
            name='subject_type',
            field=models.CharField(max_length=20),
        ),
        migrations.AddConstraint(
            model_name='breach',
            constraint=models.UniqueConstraint(fields=('rule', 'subject_type', 'subject_id'), name='breach_once'),
        ),
    ]
