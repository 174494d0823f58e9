"""Query strings: what the description of an operation does not name is refused, not ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from controlplane.base.problems import Fault, Problem, fault
from controlplane.base.strict import takes_list
from controlplane.base.texts import without_control_characters

if TYPE_CHECKING:
    from rest_framework.views import APIView

MOST_ERRORS = 20


def check_query_names(request: Request, view: APIView) -> None:
    """400 naming the query parameters that the description of this operation does not have, and those given twice
    that it takes once. A method that the route does not take is answered elsewhere.
    """
    method = (request.method or "GET").replace("HEAD", "GET")
    if not request.query_params or not hasattr(view, method.lower()):
        return
    known = _query_names(view, method)
    faults = [(name, _fault_of(known.get(name), len(given))) for name, given in request.query_params.lists()]
    errors = [fault(_shown(name), code) for name, code in faults if code is not None]
    if errors:
        raise Problem(400, "invalid", errors=errors[:MOST_ERRORS])


def _fault_of(repeatable: bool | None, count: int) -> Fault | None:
    if repeatable is None:
        return Fault.UNKNOWN_FIELD
    return Fault.REPEATED_FIELD if count > 1 and not repeatable else None


def _shown(name: str) -> str:
    return without_control_characters(name[:100])


_KNOWN: dict[tuple[type, str], dict[str, bool]] = {}


def _query_names(view: APIView, method: str) -> dict[str, bool]:
    """The names, and whether they may be given more than once. OPTIONS and the like are described by nobody."""
    key = (type(view), method)
    if key not in _KNOWN:
        # Where `extend_schema` leaves what it was told about a method.
        schema = getattr(getattr(view, method.lower()), "kwargs", {}).get("schema")
        described = schema and schema()
        if described:
            described.view, described.method = view, method
        parameters = described.get_override_parameters() if described else []
        _KNOWN[key] = {name: many for parameter in parameters for name, many in _names_of(parameter)}
    return _KNOWN[key]


def _names_of(parameter: Any) -> list[tuple[str, bool]]:
    """A parameter of the description is a single one or a serializer of many."""
    if isinstance(parameter, OpenApiParameter):
        in_query = parameter.location == OpenApiParameter.QUERY
        return [(parameter.name, bool(parameter.many))] if in_query else []
    return [(name, takes_list(field)) for name, field in parameter().fields.items()]
