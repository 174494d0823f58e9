"""The end of a server's start: what is loaded by then stays for the life of the process."""

from __future__ import annotations

import gc

from django.urls import get_resolver


def settle() -> None:
    """Keeps modules, models and routes out of the garbage collector's sight: looking through all of them takes a tenth
    of a second, in which no request is answered, and it did so after every few thousand new objects that stayed.
    """
    # Routes, and with them all views and serializers, are else loaded by the first request.
    _ = get_resolver().url_patterns
    gc.collect()
    gc.freeze()
