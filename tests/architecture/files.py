"""Law: locks without addresses, named migrations, and nothing that belongs to one machine."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import SERVER

ADDRESS = re.compile(r"https?://|^\s*--|^\s*-[a-z] ", flags=re.MULTILINE)
PINNED = re.compile(r"^[A-Za-z0-9._-]+(\[[^\]]*\])?==", flags=re.MULTILINE)
MIGRATION = re.compile(r"^\d{4}_[a-z0-9_]+\.py$")
UNNAMED = re.compile(r"^\d{4}_(auto_|alter_\w+_and_more|\w+_and_more)")
# Where this clone and the hidden files of its owner lie.
LOCAL = re.compile("|".join(re.escape(f"{path}") for path in (Path(__file__).parents[2], f"{Path.home()}/.")))
TEXT = {
    ".py",
    ".md",
    ".toml",
    ".yml",
    ".yaml",
    ".json",
    ".ts",
    ".tsx",
    ".css",
    ".html",
    ".sh",
    ".lock",
    ".txt",
    ".ini",
    "",
}


def lock_findings(root: Path) -> list[str]:
    found: list[str] = []
    for lock in sorted((root / "requirements").glob("*.lock")):
        text = lock.read_text()
        found += [f"{lock.name}: holds an address or option: {hit.group()!r}" for hit in addresses(text)]
        found += [f"{lock.name}: {name} has no hash" for name in unhashed(text)]
    npm = root / "frontend" / "package-lock.json"
    if npm.exists() and '"resolved": "http' in npm.read_text():
        found.append(
            "frontend/package-lock.json: holds registry addresses (npm's omit-lockfile-registry-resolved)"
        )
    return found


def addresses(text: str) -> Iterator[re.Match[str]]:
    without_hashes = re.sub(r"^\s+--hash=sha256:[0-9a-f]{64}( \\)?$", "", text, flags=re.MULTILINE)
    return ADDRESS.finditer(without_hashes)


def unhashed(text: str) -> Iterator[str]:
    starts = [match.start() for match in PINNED.finditer(text)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if "--hash=sha256:" not in text[start:end]:
            yield text[start:end].split("\n")[0]


def migration_findings(root: Path) -> list[str]:
    found: list[str] = []
    for folder in sorted(path for name in SERVER for path in (root / name).glob("**/migrations")):
        names = sorted(path.name for path in folder.glob("[0-9]*.py"))
        numbers = [name[:4] for name in names]
        place = folder.relative_to(root)
        found += [f"{place}: two migrations {number}" for number in set(numbers) if numbers.count(number) > 1]
        found += [
            f"{place}/{name}: needs a name"
            for name in names
            if UNNAMED.match(name) or not MIGRATION.match(name)
        ]
    return found


def tracked_files(root: Path) -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False)
    names = [name for name in done.stdout.split("\0") if name]
    return [root / name for name in names if (root / name).is_file()]


def local_findings(root: Path, files: list[Path]) -> list[str]:
    found: list[str] = []
    for path in files:
        if path.suffix not in TEXT or path.name == Path(__file__).name or path.stat().st_size > 2_000_000:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            if hit := LOCAL.search(line):
                found.append(f"{path.relative_to(root)}:{number} belongs to one machine: {hit.group()}")
    return found
