"""The static console: hashed assets for ever, everything else is its index page."""

from __future__ import annotations

import functools
import gzip
import mimetypes
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.exceptions import SuspiciousFileOperation
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseNotFound
from django.utils._os import safe_join
from django.utils.cache import patch_vary_headers

MISSING = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Headrace</title>
<body><h1>Headrace</h1><p>The console is not built yet. Run <code>make setup</code>, then reload this page.</p>
<p lang="zh-Hans">控制台尚未构建。请运行 <code>make setup</code>，然后刷新本页。</p></body></html>"""
COMPRESSED = (".js", ".css", ".html", ".svg", ".json", ".map", ".txt")
FOR_EVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """One file in memory, also compressed where that pays."""

    content: bytes
    compressed: bytes | None
    content_type: str


def serve(request: HttpRequest, path: str) -> HttpResponse:
    """A file of the built console, or its index page for the addresses that the console itself resolves."""
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    found = _file(path)
    if found is None and path.startswith("assets/"):
        return HttpResponseNotFound("No such asset.", content_type="text/plain")
    found = found or _file("index.html")
    if found is None:
        return HttpResponse(MISSING, status=503, headers={"Cache-Control": "no-store", "Retry-After": "30"})
    return _answer(request, found)


def _file(path: str) -> Path | None:
    try:
        found = Path(safe_join(settings.CONSOLE_DIR, path))
        return found if path and found.is_file() else None
    except (SuspiciousFileOperation, ValueError, OSError):
        return None


def _answer(request: HttpRequest, found: Path) -> HttpResponse:
    asset = _load(str(found), found.stat().st_mtime_ns)
    zipped = asset.compressed is not None and "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(asset.compressed if zipped else asset.content, content_type=asset.content_type)
    if zipped:
        response["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ["Accept-Encoding"])
    response["Cache-Control"] = FOR_EVER if found.parent.name == "assets" else "no-cache"
    return response


@functools.lru_cache(maxsize=512)
def _load(path: str, _mtime_ns: int) -> Asset:
    content = Path(path).read_bytes()
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    kind = "text/javascript" if path.endswith(".js") else kind
    text = path.endswith(COMPRESSED)
    return Asset(
        content, gzip.compress(content, 6) if text else None, f"{kind}; charset=utf-8" if text else kind
    )
