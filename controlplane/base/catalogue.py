"""The server's message catalogues: which texts the code has; reading, writing and compiling PO files."""

from __future__ import annotations

import ast
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

MARKERS = {"_", "gettext", "gettext_lazy"}
PACKAGES = ("controlplane", "inventory", "queues", "scheduling")
HEADER = (
    "Project-Id-Version: Headrace\n"
    "Language: {language}\n"
    "MIME-Version: 1.0\n"
    "Content-Type: text/plain; charset=UTF-8\n"
    "Content-Transfer-Encoding: 8bit\n"
)
MO_MAGIC = 0x950412DE


def texts_of(root: Path) -> dict[str, list[str]]:
    """Every marked text of the server with the files it stands in, in alphabetical order."""
    found: dict[str, list[str]] = {}
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            for text in _marked(ast.parse(file.read_text(encoding="utf-8"))):
                files = found.setdefault(text, [])
                name = file.relative_to(root).as_posix()
                if name not in files:
                    files.append(name)
    return dict(sorted(found.items()))


def _marked(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in MARKERS and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def read_po(file: Path) -> dict[str, str]:
    """Text -> translation; "" where there is none yet. Understands what `write_po` writes."""
    entries: dict[str, str] = {}
    parts: dict[str, str] = {}
    current = ""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        keyword, _space, rest = line.partition(" ")
        if keyword in ("msgid", "msgstr"):
            current = keyword
            parts[current] = ast.literal_eval(rest)
        elif line.startswith('"'):
            parts[current] += ast.literal_eval(line)
        if keyword == "msgstr" or line.startswith('"'):
            entries[parts["msgid"]] = parts.get("msgstr", "")
        if not line:
            parts = {}
    entries.pop("", None)
    return entries


def write_po(file: Path, texts: Mapping[str, Iterable[str]], *, translations: Mapping[str, str]) -> None:
    """All texts with their places and translations; what the code no longer has is dropped."""
    language = file.parts[-3].replace("_", "-")
    blocks = [f'msgid ""\nmsgstr {_quote(HEADER.format(language=language))}']
    for text, files in texts.items():
        places = "\n".join(f"#: {name}" for name in files)
        blocks.append(f"{places}\nmsgid {_quote(text)}\nmsgstr {_quote(translations.get(text, ''))}")
    file.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def compile_mo(translations: Mapping[str, str], *, language: str) -> bytes:
    """The binary form that gettext reads: texts sorted, then two tables of (length, offset), then the strings."""
    entries = {"": HEADER.format(language=language), **{k: v for k, v in translations.items() if v}}
    pairs = sorted((key.encode(), value.encode()) for key, value in entries.items())
    count, tables_at = len(pairs), 7 * 4
    strings_at = tables_at + 2 * 8 * count
    data = b""
    keys: list[tuple[int, int]] = []
    values: list[tuple[int, int]] = []
    for index, table in ((0, keys), (1, values)):
        for pair in pairs:
            table.append((len(pair[index]), strings_at + len(data)))
            data += pair[index] + b"\0"
    header = struct.pack("<7I", MO_MAGIC, 0, count, tables_at, tables_at + 8 * count, 0, strings_at)
    return header + b"".join(struct.pack("<2I", *entry) for entry in (*keys, *values)) + data
