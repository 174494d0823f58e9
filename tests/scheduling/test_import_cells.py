"""Past jobs whose cells cannot be taken as they stand: names that steer a terminal, wishes of no device."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from scheduling.models import ImportedJob
from tests.scheduling import factories as make

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queues():
    make.make_queues()


def load(folder: Path, columns: str, cells: str, **options: str) -> None:
    path = folder / "a.csv"
    path.write_text(f"job,submitted,devices,queue{columns}\n1,2025-03-04T05:06:07,{cells}\n")
    call_command("import_history", path, verbosity=0, **options)


def test_names_that_steer_a_terminal_are_refused(tmp_path):
    with pytest.raises(CommandError, match="--source"):
        load(tmp_path, "", "1,training", source="a\n\x1b[31m;x")
    for sign in ("\x1b", "\u202e", "\x85"):
        with pytest.raises(CommandError, match="column 'team'"):
            load(tmp_path, ",team", f"1,training,a{sign}b")
    assert not ImportedJob.objects.exists()
    load(tmp_path, ",team", "1,training,\u89c6\u89c9\u3000\u7ec4")
    assert ImportedJob.objects.get().team == "\u89c6\u89c9\u3000\u7ec4"


def test_a_job_without_devices_asks_for_nothing_of_one(tmp_path):
    load(tmp_path, ",models,device_memory_mib", "0,training,A100,100")
    found = ImportedJob.objects.get().request
    assert (found["devices"], found["models"], found["device_memory_mib"]) == (0, [], None)
