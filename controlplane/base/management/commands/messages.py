"""`manage.py messages`: collect the texts of the server into the catalogues and compile them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.base.catalogue import compile_mo, read_po, texts_of, write_po


class Command(BaseCommand):
    """Writes django.po and django.mo of every folder below locale/; fails while a text has no translation."""

    requires_system_checks: list[str] = []
    help = "Collect the texts of the server into locale/*/LC_MESSAGES/django.po and compile django.mo."

    def handle(self, *args: Any, **options: Any) -> None:
        texts = texts_of(settings.BASE_DIR)
        missing = [text for file in catalogues() for text in refresh(file, texts)]
        if missing:
            raise CommandError("Without translation:\n" + "\n".join(missing))


def catalogues() -> list[Path]:
    """The PO files, one per language."""
    return sorted(Path(settings.LOCALE_PATHS[0]).glob("*/LC_MESSAGES/django.po"))


def refresh(file: Path, texts: dict[str, list[str]]) -> list[str]:
    """Rewrite one catalogue; the texts that have no translation in it."""
    translations = {text: translation for text, translation in read_po(file).items() if text in texts}
    write_po(file, texts, translations=translations)
    file.with_suffix(".mo").write_bytes(compile_mo(translations, language=file.parts[-3].replace("_", "-")))
    return [text for text in texts if not translations.get(text)]
