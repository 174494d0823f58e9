"""The migrations say what the models say."""

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
