"""`headrace-agent parse`: one document per file, whatever the file is."""

import codecs
import json
from pathlib import Path
from typing import Any

import pytest

from agent import captures
from agent.cli import main

CSV = "index, name, memory.total [MiB], memory.used [MiB]\n4, NVIDIA Imaginary µ, 24576 MiB, 12 MiB\n"


def parse(capsys: pytest.CaptureFixture[str], *names: Path | str) -> tuple[int, list[dict[str, Any]], str]:
    code = main(["parse", "nvidia", *map(str, names)])
    out, err = capsys.readouterr()
    return code, [json.loads(line) for line in out.splitlines()], err


@pytest.mark.parametrize(
    ("data", "guessed"),
    [
        (CSV.encode(), None),
        (codecs.BOM_UTF8 + CSV.encode(), None),
        (codecs.BOM_UTF16_LE + CSV.encode("utf-16-le"), "utf-16-le"),
        (CSV.encode("utf-16-le"), "utf-16-le"),
        (CSV.encode("utf-16-be"), "utf-16-be"),
        (codecs.BOM_UTF32_LE + CSV.encode("utf-32-le"), "utf-32-le"),
        (CSV.encode("latin-1"), "latin-1"),
        (CSV.replace("µ", "卡").encode("gb18030"), "gb18030"),
        (CSV.replace("\n", "\r\n").encode(), None),
    ],
)
def test_any_encoding_is_read_and_named(
    data: bytes, guessed: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_bytes(data)
    code, (document,), _ = parse(capsys, tmp_path / "a.csv")
    (device,) = document["devices"]
    assert (code, device["index"], device["memory_total_mib"], device["memory_used_mib"]) == (0, 4, 24576, 12)
    assert [guessed in said for said in document["warnings"]] == ([True] if guessed else [])


def test_a_file_that_is_no_text_has_a_document_too_and_others_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.csv").write_text(CSV)
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 40 + b"\0" * 4000)
    names = [tmp_path / "binary", tmp_path, tmp_path / "none", tmp_path / "good.csv"]
    code, documents, err = parse(capsys, *names)
    assert code == 1 and [len(document["devices"]) for document in documents] == [0, 0, 0, 1]
    assert all(document["warnings"] for document in documents[:3]) and err.count("\n") == 3


def test_a_file_too_large_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, "MOST_BYTES", 10)
    (tmp_path / "a.csv").write_text(CSV)
    code, (document,), _ = parse(capsys, tmp_path / "a.csv")
    assert code == 1 and "larger" in document["warnings"][0]


def test_empty_and_foreign_text_is_not_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "foreign").write_text("bash: nvidia-smi: command not found\n")
    code, documents, _ = parse(capsys, tmp_path / "empty", tmp_path / "foreign")
    assert code == 0 and all("nothing was recognised" in said["warnings"][0] for said in documents)
    assert [document["devices"] for document in documents] == [[], []]


def test_an_unknown_vendor_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["parse", "voodoo", "x"])
    assert stop.value.code == 2 and "nvidia" in capsys.readouterr().err


def test_the_hosts_processors_are_probed_like_a_vendor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["vendor"] == "cpu" and found["cpus"] and found["devices"] == []
    assert found["sockets"] is None or found["sockets"] >= 1
