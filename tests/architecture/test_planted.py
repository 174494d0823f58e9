"""Every house rule is seen to fail: a violation is planted in a small tree, and the rule must name it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.architecture import files, habits, purity, sizes, writers
from tests.architecture.tree import Tree

LONG_FUNCTION = "def long():\n" + "    x = 1\n" * 60
DOC = '"""What this owns."""\n'


def plant(root: Path, path: str, text: str) -> Tree:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return Tree(root)


PLANTED = [
    (sizes.findings, "queues/a.py", DOC + LONG_FUNCTION, "queues/a.py:2 long has 61 lines"),
    (sizes.findings, "tests/test_a.py", DOC + LONG_FUNCTION, "tests/test_a.py:2 long has 61 lines"),
    (sizes.findings, "queues/a.py", DOC + "x = 1\n" * 500, "queues/a.py has 501 lines"),
    (
        sizes.findings,
        "queues/a.py",
        DOC + "def f():\n" + "    x = 1\n" * 12,
        "the median function has 13 lines",
    ),
    (writers.findings, "queues/operations.py", "job.status = 1\n", "operations.py:1 writes Job.status"),
    (
        writers.findings,
        "queues/operations.py",
        "Job.objects.filter(id=1).update(status=2)\n",
        "writes Job.status",
    ),
    (writers.findings, "queues/operations.py", "job.save(update_fields=['status'])\n", "writes Job.status"),
    (writers.findings, "queues/operations.py", "Job.objects.update(**columns)\n", "writes Job.status"),
    (writers.findings, "scheduling/cycle.py", "rows.update(phase='lost')\n", "writes Placement.phase"),
    (
        writers.findings,
        "scheduling/cycle.py",
        "Placement.objects.bulk_update(rows, ['phase'])\n",
        "writes Placement.phase",
    ),
    (
        writers.findings,
        "inventory/ingest.py",
        "Slice.objects.filter(device=1).delete()\n",
        "changes rows of Slice",
    ),
    (purity.findings, "scheduling/engine/a.py", "import random\n", "imports random"),
    (purity.findings, "scheduling/engine/a.py", "from os import path\n", "imports os"),
    (purity.findings, "scheduling/engine/a.py", "import logging\n", "imports logging"),
    (purity.findings, "scheduling/engine/a.py", "from time import monotonic\n", "imports time"),
    (purity.findings, "scheduling/engine/a.py", "from queues.models import Job\n", "imports queues.models"),
    (
        purity.findings,
        "scheduling/engine/a.py",
        "import numpy as np\nnp.random.default_rng()\n",
        "np.random.default_rng",
    ),
    (
        purity.findings,
        "scheduling/engine/a.py",
        "import datetime\ndatetime.date.today()\n",
        "datetime.date.today",
    ),
    (purity.findings, "scheduling/engine/a.py", "hash('x')\n", "calls hash()"),
    (purity.findings, "queues/a.py", "import time\ntime.time()\n", "queues/a.py:2 reads the wall clock"),
    (
        purity.findings,
        "queues/a.py",
        "from django.utils import timezone\ntimezone.now()\n",
        "reads the wall clock",
    ),
    (purity.findings, "queues/a.py", "from time import time\n", "imports time.time"),
    (purity.findings, "queues/a.py", "x = models.DateTimeField(auto_now=True)\n", "reads the wall clock"),
    (habits.findings, "queues/utils.py", DOC, "the name 'utils' says nothing"),
    (habits.findings, "queues/a.py", DOC + "# TO" + "DO later\n", "queues/a.py:2 is unfinished"),
    (habits.findings, "queues/a.py", DOC + "from os import *\n", "imports *"),
    (habits.findings, "queues/a.py", "x = 1\n", "does not say what it owns"),
    (
        habits.findings,
        "queues/a.py",
        DOC + "from django.db.models.signals import post_save\n",
        "uses django.db.models.signals",
    ),
    (habits.findings, "queues/a.py", DOC + "job.save()\n", "saves without update_fields"),
    (habits.findings, "queues/a.py", DOC + "def f():\n    import os\n", "imports inside f()"),
]


@pytest.mark.parametrize(("law", "path", "text", "expected"), PLANTED, ids=[entry[3] for entry in PLANTED])
def test_a_planted_violation_is_named(
    tmp_path: Path, law: Callable[[Tree], list[str]], path: str, text: str, expected: str
) -> None:
    found = law(plant(tmp_path, path, text))
    assert any(expected in line for line in found), found


ALLOWED = [
    (writers.findings, "queues/lifecycle.py", "Job.objects.filter(id=1).update(status=2)\n"),
    (writers.findings, "queues/operations.py", "Rollout.objects.update(status=2)\n"),
    (purity.findings, "controlplane/base/clock.py", "from datetime import datetime\ndatetime.now()\n"),
    (
        purity.findings,
        "scheduling/engine/a.py",
        "import datetime\nimport numpy\nfrom scheduling.engine import types\n",
    ),
    (habits.findings, "queues/a.py", DOC + "serializer.save()\njob.save(update_fields=['x'])\n"),
    (habits.findings, "queues/apps.py", DOC + "class A:\n    def ready(self):\n        import queues.b\n"),
]


@pytest.mark.parametrize(("law", "path", "text"), ALLOWED)
def test_what_is_allowed_passes(
    tmp_path: Path, law: Callable[[Tree], list[str]], path: str, text: str
) -> None:
    assert law(plant(tmp_path, path, text)) == []


def test_planted_lock_addresses_and_missing_hashes(tmp_path: Path) -> None:
    folder = tmp_path / "requirements"
    folder.mkdir()
    good = "a==1 \\\n    --hash=sha256:" + "0" * 64 + "\n"
    (folder / "good.lock").write_text(good)
    assert files.lock_findings(tmp_path) == []
    (folder / "bad.lock").write_text("--index-url x\n" + good + "b==2\nc @ https" + "://host/c.whl\n")
    found = "\n".join(files.lock_findings(tmp_path))
    assert "b==2 has no hash" in found
    assert found.count("holds an address") == 2


def test_planted_migrations(tmp_path: Path) -> None:
    folder = tmp_path / "queues" / "migrations"
    folder.mkdir(parents=True)
    for name in ("0001_initial.py", "0002_auto_20250101.py", "0002_job_index.py"):
        (folder / name).write_text("")
    found = "\n".join(files.migration_findings(tmp_path))
    assert "two migrations 0002" in found
    assert "0002_auto_20250101.py: needs a name" in found


def test_planted_machine_paths(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    here = str(Path(__file__).parents[2])
    notes.write_text(f"fine\nsee {here}/x\n")
    assert files.local_findings(tmp_path, [notes]) == [f"notes.md:2 belongs to one machine: {here}"]
