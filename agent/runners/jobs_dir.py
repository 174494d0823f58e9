"""Where the jobs' work folders lie."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from agent.runners.base import RunnerError


def choose_jobs_dir(state_dir: Path, wanted: Path | None, *, isolates: bool) -> Path:
    """Where work folders lie: a place that jobs' own users can reach, which a state folder below a closed
    home is not.
    """
    mark = hashlib.sha256(str(state_dir.resolve()).encode()).hexdigest()[:12]
    candidates = [
        wanted or state_dir / "jobs",
        Path("/var/lib/headrace-jobs") / mark,
        Path("/tmp") / f"headrace-jobs-{mark}",
    ]
    for folder in candidates:
        try:
            folder.mkdir(mode=0o711, parents=True, exist_ok=True)
            if folder != wanted and not is_own_folder(folder):
                continue
            folder.chmod(0o711)
        except OSError:
            continue
        if not isolates or all(parent.stat().st_mode & 0o001 for parent in folder.resolve().parents):
            return folder
    raise RunnerError(
        f"no folder for jobs can be made; tried {', '.join(str(folder) for folder in candidates)}"
    )


def is_own_folder(path: Path) -> bool:
    """A real folder of ours: where anybody may write, somebody may have put a link or a folder of his own."""
    status = path.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
