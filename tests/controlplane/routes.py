"""All REST routes, found by walking the URL configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from controlplane.accounts.permissions import Action, ActionPermission

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
# Public by purpose: it says nothing about the cluster.
PUBLIC = {"/api/v1/openapi.json"}


@dataclass(frozen=True)
class Route:
    """One method of one address; `named` is None when the view does not name one."""

    method: str
    template: str
    view: type
    named: Action | None

    @property
    def action(self) -> Action:
        assert self.named is not None, (
            f"{self.view.__name__} must have one permission class that names an Action"
        )
        return self.named

    @property
    def address(self) -> str:
        """An address that matches but names nothing that exists."""
        return re.sub(
            r"<(\w+:)?\w+>", lambda m: "999999" if m[1] == "int:" else "nothing-here", self.template
        )


def api_routes() -> list[Route]:
    found = [r for r in _walk(get_resolver().url_patterns, "/") if r.template.startswith("/api/v1/")]
    return [route for route in found if route.template not in PUBLIC]


def _walk(patterns: list[Any], prefix: str) -> Iterator[Route]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, prefix + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            yield from _methods(pattern, prefix + str(pattern.pattern))


def _methods(pattern: URLPattern, template: str) -> Iterator[Route]:
    view = getattr(pattern.callback, "cls", None)
    if view is None:
        return
    named = getattr(pattern.callback, "actions", None)
    methods = [m.upper() for m in named] if named else [m for m in METHODS if hasattr(view, m.lower())]
    for method in methods:
        yield Route(method, template, view, _action(view, method))


def _action(view: type, method: str) -> Action | None:
    classes = getattr(view, "permission_classes", [])
    if len(classes) != 1 or not issubclass(classes[0], ActionPermission):
        return None
    return classes[0].actions.get(method)
