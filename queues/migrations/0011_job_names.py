"""An index for names that begin with a text, in whatever collation the database has."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("queues", "0010_replicas"),
    ]

    # Django writes `istartswith` with upper(); without statistics of the new expression it would not be used.
    operations = [
        migrations.RunSQL(
            [
                "CREATE INDEX job_name_begins ON queues_job (upper(name) text_pattern_ops)",
                "ANALYZE queues_job",
            ],
            "DROP INDEX job_name_begins",
        ),
    ]
