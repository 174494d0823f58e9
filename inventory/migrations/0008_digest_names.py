"""The digests of a contact by what they digest."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("inventory", "0007_quiet_reports")]

    operations = [
        migrations.RenameField("nodecontact", "said", "report_digest"),
        migrations.RenameField("nodecontact", "standing", "state_digest"),
    ]
