"""The Chinese catalogue is complete, fresh and keeps every placeholder."""

from __future__ import annotations

import gettext
import re
from io import BytesIO
from pathlib import Path

import pytest
from django.utils import translation

from controlplane.base.catalogue import compile_mo, read_po, texts_of, write_po
from controlplane.base.problems import Problem

ROOT = Path(__file__).parents[2]
CATALOGUES = sorted((ROOT / "locale").glob("*/LC_MESSAGES/django.po"))
PLACES = re.compile(r"%\(\w+\)s|%s")


def test_there_is_a_chinese_catalogue() -> None:
    assert [file.parts[-3] for file in CATALOGUES] == ["zh_Hans"]


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parts[-3])
def test_every_text_is_translated(file: Path) -> None:
    translations = read_po(file)
    missing = [text for text in texts_of(ROOT) if not translations.get(text)]
    assert missing == [], (
        "run `python manage.py messages`, then translate these in django.po and run it again"
    )


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parts[-3])
def test_files_are_as_the_command_writes_them(file: Path, tmp_path: Path) -> None:
    translations = read_po(file)
    fresh = tmp_path / file.parts[-3] / "LC_MESSAGES" / "django.po"
    fresh.parent.mkdir(parents=True)
    write_po(fresh, texts_of(ROOT), translations=translations)
    assert fresh.read_text() == file.read_text(), "run `python manage.py messages`"
    compiled = compile_mo(translations, language=file.parts[-3].replace("_", "-"))
    assert compiled == file.with_suffix(".mo").read_bytes(), "run `python manage.py messages`"


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parts[-3])
def test_placeholders_are_kept(file: Path) -> None:
    wrong = [
        text for text, translated in read_po(file).items()
        if translated and sorted(PLACES.findall(text)) != sorted(PLACES.findall(translated))
    ]  # fmt: skip
    assert wrong == []


@pytest.mark.parametrize("file", CATALOGUES, ids=lambda file: file.parts[-3])
def test_chinese_is_punctuated_as_chinese(file: Path) -> None:
    half_width = re.compile(r"[\u4e00-\u9fff][,:;?!]|[,:;?!] ?[\u4e00-\u9fff]")
    assert [text for text in read_po(file).values() if half_width.search(text or "")] == []


def test_catalogues_survive_quotes_and_line_breaks(tmp_path: Path) -> None:
    texts = {'a "quoted" \\ text': ["x.py"], "two\nlines\t": ["x.py", "y.py"], "é": []}
    translations = {text: f"译 {text}" for text in texts}
    file = tmp_path / "zh_Hans" / "LC_MESSAGES" / "django.po"
    file.parent.mkdir(parents=True)
    write_po(file, texts, translations=translations)
    assert read_po(file) == translations
    compiled = gettext.GNUTranslations(BytesIO(compile_mo(translations, language="zh-Hans")))
    assert [compiled.gettext(text) for text in texts] == list(translations.values())
    assert compiled.gettext("unknown") == "unknown"


def test_problems_speak_the_language_now_active() -> None:
    problem = Problem(405, "method-not-allowed", params={"method": "PUT"})
    with translation.override("zh-hans"):
        assert problem.body()["detail"] == "此地址不支持 PUT。"
    with translation.override("en"):
        assert problem.body()["detail"] == "This address does not take PUT."


# What the catalogues call one thing, and the word that would be a second name for it.
OTHER_WORDS = {"放置": "安排"}
SOURCES = [
    *CATALOGUES,
    ROOT / "client" / "messages.py",
    *sorted((ROOT / "frontend" / "src").rglob("*.zh.ts")),
]


@pytest.mark.parametrize(("word", "other"), OTHER_WORDS.items())
def test_one_thing_has_one_chinese_word(word: str, other: str) -> None:
    texts = {file: file.read_text(encoding="utf-8") for file in SOURCES}
    assert any(word in text for text in texts.values())
    assert [file for file, text in texts.items() if other in text] == []


def test_held_and_suspended_have_one_chinese_word_each() -> None:
    """Held is put aside, suspended is paused; a third word would be taken for either."""
    console = [*ROOT.glob("frontend/src/**/i18n.zh.ts")]
    assert console
    for file in [*CATALOGUES, *console, ROOT / "client/messages.py"]:
        assert "挂起" not in file.read_text(), file
