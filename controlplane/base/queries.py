"""Query strings: what the description of an operation does not name is refused, not ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from controlplane.base.problems import Fault, Problem, fault
from controlplane.base.texts import without_control_characters

if TYPE_CHECKING:
    from rest_framework.views import APIView


def check_query_names(request: Request, view: APIView) -> None:
    """400 naming the query parameters that the description of this operation does not have."""
    if not request.query_params:
        return
    known = _query_names(view, (request.method or "GET").replace("HEAD", "GET"))
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        shown = (without_control_characters(name[:100]) for name in unknown[:20])
        raise Problem(400, "invalid", errors=[fault(name, Fault.UNKNOWN_FIELD) for name in shown])


_KNOWN: dict[tuple[type, str], frozenset[str]] = {}


def _query_names(view: APIView, method: str) -> frozenset[str]:
    key = (type(view), method)
    if key not in _KNOWN:
        # Where `extend_schema` leaves what it was told about a method.
        described = getattr(view, method.lower()).kwargs["schema"]()
        described.view, described.method = view, method
        parameters = described.get_override_parameters()
        _KNOWN[key] = frozenset(name for parameter in parameters for name in _names_of(parameter))
    return _KNOWN[key]


def _names_of(parameter: Any) -> list[str]:
    """A parameter of the description is a single one or a serializer of many."""
    if isinstance(parameter, OpenApiParameter):
        return [parameter.name] if parameter.location == OpenApiParameter.QUERY else []
    return list(parameter().fields)
