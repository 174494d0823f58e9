"""Container images present on the node: read from podman's own index, asked of docker and containerd."""

from __future__ import annotations

import errno
import json
import os
import pwd
import re
import shutil
import stat
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from agent.host.commands import CommandResult, run_command
from agent.notices import notice
from agent.protocol import Notice, StoredImage

MOST_IMAGES = 2000
MOST_INDEX_BYTES = 64 << 20
MOST_NAME = 300
TIMEOUT_S = 10.0
SYSTEM_STORE = "var/lib/containers/storage"
USER_STORE = ".local/share/containers/storage"
DOCKER_HUB = "docker.io/"
DOCKER = ("docker", "images", "--digests", "--no-trunc", "--format", "{{json .}}")
CRICTL = ("crictl", "images", "-o", "json")
CTR_NAMESPACES = ("ctr", "namespaces", "ls", "-q")
_SIZE = re.compile(r"^([\d.]{1,12})\s*([kKMGT]?)(i?)B$")
# NAME:TAG DIGEST SIZE, as podman and docker print it where they are asked for it so.
_LISTED = re.compile(r"(\S{1,300}:[^\s:]+) (sha256:[0-9a-f]{64}|<none>) ([\d.]{1,12} ?[kKMGT]?i?B)", re.ASCII)
_CTR = re.compile(r"^(\S+)\s+\S+\s+(sha256:[0-9a-f]{64})\s+([\d.]+\s*[KMGT]?i?B)\s")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
T = TypeVar("T")
Run = Callable[[Sequence[str]], CommandResult]


@dataclass(frozen=True, slots=True)
class Images:
    """What one look found; a source that is not here says nothing."""

    images: tuple[StoredImage, ...] = ()
    notices: tuple[Notice, ...] = ()

    def names(self) -> list[str]:
        """All spellings of all names."""
        return sorted({name for image in self.images for name in spellings(image.name)})


def read_images(root: Path, *, users: Sequence[str] = (), run: Run | None = None) -> Images:
    """Images of this user, of the given users and of the daemons. Never raises; what cannot be read is a notice."""
    ask = run or (lambda argv: run_command(list(argv), timeout_s=TIMEOUT_S))
    found = [_looked(f"podman {store}", _store, store) for store in podman_stores(root, users)]
    found += [_looked("docker", _docker, ask), _looked("containerd", _containerd, ask)]
    images: dict[str, StoredImage] = {}
    for image in (image for part in found for image in part.images):
        images.setdefault(image.name, image)
    ordered = tuple(images[name] for name in sorted(images))[:MOST_IMAGES]
    return Images(ordered, tuple(said for part in found for said in part.notices))


def listed_images(text: str) -> list[StoredImage]:
    """Images as an engine listed them, one a line; what else it says is passed over."""
    matches = (_LISTED.fullmatch(line.strip()) for line in text.split("\n"))
    found = {
        image.name: image
        for match in matches
        if match is not None
        for image in _image(match.group(1), match.group(2), size_mib(match.group(3)))
    }
    return [found[name] for name in sorted(found)][:MOST_IMAGES]


def spellings(name: str) -> Iterator[str]:
    """The name with and without the registry that is meant where none is named."""
    yield name
    if name.startswith(DOCKER_HUB):
        short = name.removeprefix(DOCKER_HUB)
        yield short
        yield short.removeprefix("library/")
    elif "/" not in name:
        yield f"{DOCKER_HUB}library/{name}"
    elif not re.match(r"^[^/]*[.:]|^localhost/", name.split("/", 1)[0] + "/"):
        yield f"{DOCKER_HUB}{name}"


def podman_stores(root: Path, users: Sequence[str]) -> list[Path]:
    """Where podman keeps images: of the machine, of this user and of those named."""
    stores = [_configured_store(root) or root / SYSTEM_STORE]
    for user in [_own_name(), *users]:
        try:
            home = pwd.getpwnam(user).pw_dir
        except KeyError:
            continue
        stores.append(root / home.lstrip("/") / USER_STORE)
    return list(dict.fromkeys(stores))


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def _configured_store(root: Path) -> Path | None:
    try:
        settings = tomllib.loads((root / "etc/containers/storage.conf").read_text(encoding="utf-8"))
        graph_root = settings["storage"]["graphroot"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return root / graph_root.lstrip("/") if isinstance(graph_root, str) else None


def _looked(source: str, look: Callable[[T], Images], at: T) -> Images:
    """What a source tells; whatever lies there - users write their own indexes - is a failure of this source only."""
    try:
        return look(at)
    except Exception as error:
        return Images(notices=(notice("images-unread", source=source, problem=_reason(error)),))


def _store(store: Path) -> Images:
    """The images of one store, whatever its driver; the index is only read, so that podman is never held up."""
    found: list[StoredImage] = []
    for index in sorted(store.glob("*-images/images.json")):
        driver = index.parent.name.removesuffix("-images")
        layers = _layers(store / f"{driver}-layers/layers.json")
        for entry in _entries(index):
            size = _chain_bytes(layers, entry.get("layer"))
            for name in entry.get("names") or ():
                found += _image(name, entry.get("digest"), None if size is None else size >> 20)
    if not found and store.is_dir():
        os.listdir(store)
    return Images(tuple(found))


def _entries(index: Path) -> list[dict[str, Any]]:
    try:
        with open(index, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, f"{index.name} is no regular file")
            entries = json.loads(file.read(MOST_INDEX_BYTES))
    except FileNotFoundError:
        return []
    return [entry for entry in entries if isinstance(entry, dict)]


def _without_waiting(path: str, flags: int) -> int:
    """Open a file that a user made, who may have put a pipe or a link to something else in its place."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


def _layers(index: Path) -> Mapping[str, tuple[str | None, int | None]]:
    """Parent and bytes of each layer."""
    return {
        str(entry.get("id")): (entry.get("parent"), _count(entry.get("diff-size")))
        for entry in _entries(index)
    }


def _chain_bytes(layers: Mapping[str, tuple[str | None, int | None]], top: object) -> int | None:
    total, layer = 0, str(top)
    for _ in range(len(layers)):
        if layer not in layers:
            return None
        parent, size = layers[layer]
        if size is None:
            return None
        total += size
        if not parent:
            return total
        layer = parent
    return None


def _docker(ask: Run) -> Images:
    if not shutil.which("docker"):
        return Images()
    result = ask(DOCKER)
    if result.problem and not _is_empty(result):
        return Images(notices=(notice("images-unread", source="docker", problem=result.problem),))
    found: list[StoredImage] = []
    for line in result.output.splitlines():
        entry = _object(line)
        repository, tag = str(entry.get("Repository", "")), str(entry.get("Tag", ""))
        if repository and "<none>" not in (repository, tag):
            found += _image(f"{repository}:{tag}", entry.get("Digest"), size_mib(str(entry.get("Size", ""))))
    return Images(tuple(found))


def _containerd(ask: Run) -> Images:
    """What Kubernetes sees where crictl is, else the images of all namespaces."""
    if shutil.which("crictl"):
        result = ask(CRICTL)
        if not result.problem:
            return Images(tuple(_crictl_images(_object(result.output))))
        if not shutil.which("ctr"):
            return Images(notices=(notice("images-unread", source="crictl", problem=result.problem),))
    if not shutil.which("ctr"):
        return Images()
    spaces = ask(CTR_NAMESPACES)
    if spaces.problem and not _is_empty(spaces):
        return Images(notices=(notice("images-unread", source="containerd", problem=spaces.problem),))
    found: list[StoredImage] = []
    for space in spaces.output.split()[:16]:
        for line in ask(("ctr", "-n", space, "images", "ls")).output.splitlines():
            match = _CTR.match(f"{line} ")
            if match and not match.group(1).startswith("sha256:"):
                found += _image(match.group(1), match.group(2), size_mib(match.group(3)))
    return Images(tuple(found))


def _crictl_images(document: Mapping[str, Any]) -> Iterator[StoredImage]:
    entries = document.get("images")
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        size = _count(entry.get("size"))
        digests = entry.get("repoDigests") or ()
        digest = next((str(each).partition("@")[2] for each in digests), None)
        for name in entry.get("repoTags") or ():
            yield from _image(name, digest, None if size is None else size >> 20)


def _image(name: object, digest: object, size: int | None) -> Iterable[StoredImage]:
    if isinstance(name, str) and 0 < len(name) <= MOST_NAME and "<none>" not in name:
        told = digest if isinstance(digest, str) and digest.startswith("sha256:") else None
        yield StoredImage(name=name, digest=told, size_mib=size)


def size_mib(text: str) -> int | None:
    """`1.23GB` counts in thousands, `1.23GiB` in 1024s."""
    match = _SIZE.match(text.strip())
    if match is None:
        return None
    try:
        number = float(match.group(1))
    except ValueError:
        return None
    return round(number * (1024 if match.group(3) else 1000) ** _POWERS[match.group(2).upper()]) >> 20


def _count(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 18:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_empty(result: CommandResult) -> bool:
    """No images is no failure."""
    return result.problem.endswith("empty output")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or f"{type(error).__name__}: {error}"
