"""What all REST endpoints share: pages by cursor, ETags, strict bodies and query strings."""

from __future__ import annotations

import functools
import hashlib
import re
from typing import Any, TypeVar

from django.db import DataError
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from controlplane.base.problems import Fault, Problem, invalid
from controlplane.base.strict import (
    LinesField,
    QueryValues,
    SecretField,
    StrictJSONParser,
    StrictSerializer,
    takes_list,
    whole_number,
)

__all__ = [
    "IF_MATCH", "PAGE_PARAMETERS", "CursorPages", "LinesField", "SecretField", "StrictJSONParser", "StrictSerializer",
    "check_if_match", "etag_of", "not_modified", "page", "page_of", "read_body", "read_query", "with_etag",
]  # fmt: skip

CURSOR = re.compile(r"[A-Za-z0-9+/=_-]*")
SerializerT = TypeVar("SerializerT", bound=Serializer)
DEFAULT_LIMIT, LARGEST_LIMIT = 50, 500
_CURSOR = _("This cursor is not valid. Start without one.")
IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="412 when this is no longer the version."
)
PAGE_PARAMETERS = [
    OpenApiParameter(
        "limit", {"type": "integer", "minimum": 1, "maximum": LARGEST_LIMIT, "default": DEFAULT_LIMIT}
    ),
    OpenApiParameter("cursor", str, description="As found in `next` and `previous`."),
]


class CursorPages(CursorPagination):
    """`{"next", "previous", "results"}`, newest first; `?limit=` 1..500."""

    page_size = DEFAULT_LIMIT
    ordering = "-id"
    template = None

    def get_page_size(self, request: Request) -> int:
        text = request.query_params.get("limit")
        return self.page_size if text is None else whole_number("limit", text, low=1, high=LARGEST_LIMIT)

    def decode_cursor(self, request: Request) -> Any:
        if not CURSOR.fullmatch(request.query_params.get("cursor", "")):
            # What is no base64 would be read as the parts of it that are.
            raise invalid("cursor", Fault.INVALID, message=_CURSOR)
        try:
            return super().decode_cursor(request)
        except NotFound:
            raise invalid("cursor", Fault.INVALID, message=_CURSOR) from None

    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any] | None:
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, TypeError, DataError):
            # A made-up position that does not even convert to the type of the ordering column.
            raise invalid("cursor", Fault.INVALID, message=_CURSOR) from None


def page(
    request: Request,
    queryset: QuerySet,
    *,
    serializer: type[Serializer],
    ordering: str = "-id",
    context: Any = None,
) -> Response:
    """One page of a scoped queryset as the answer of a list endpoint."""
    pages = CursorPages()
    pages.ordering = ordering
    rows = pages.paginate_queryset(queryset, request)
    return pages.get_paginated_response(
        serializer(rows, many=True, context=context or {"request": request}).data
    )


@functools.cache
def page_of(serializer: type[Serializer]) -> type[Serializer]:
    """The type of one page of `serializer`, for the description of the API."""
    name = serializer.__name__.removesuffix("Serializer")
    fields = {
        "next": serializers.URLField(allow_null=True),
        "previous": serializers.URLField(allow_null=True),
        "results": serializer(many=True),
    }
    return type(f"{name}PageSerializer", (Serializer,), fields)


def read_body(request: Request, serializer: type[SerializerT], *, partial: bool = False) -> dict[str, Any]:
    """The validated body; a Problem naming the fields otherwise."""
    reader = serializer(data=request.data, partial=partial)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def read_query(request: Request, serializer: type[SerializerT], *, paged: bool = False) -> dict[str, Any]:
    """The validated query string; with `paged`, `limit` and `cursor` are left to the pagination."""
    given, fields = request.query_params, serializer().fields
    values = QueryValues()
    for name in given:
        if not (paged and name in ("limit", "cursor")):
            values[name] = given.getlist(name) if takes_list(fields.get(name)) else given[name]
    reader = serializer(data=values)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def etag_of(*parts: object) -> str:
    """A strong ETag of whatever identifies this version of the answer."""
    text = "\x1f".join(map(str, parts))
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def _tags(header: str) -> set[str]:
    return {tag.strip().removeprefix("W/") for tag in header.split(",") if tag.strip()}


def not_modified(request: Request, etag: str) -> Response | None:
    """304 when the caller has this version already (If-None-Match), else None."""
    if etag in _tags(request.headers.get("If-None-Match", "")):
        return Response(status=304, headers={"ETag": etag})
    return None


def check_if_match(request: Request, etag: str) -> None:
    """412 when the caller edits a version that is no longer current; without If-Match the edit is unconditional."""
    header = request.headers.get("If-Match")
    if header is not None and header.strip() != "*" and etag not in _tags(header):
        raise Problem(412, "precondition-failed", headers={"ETag": etag})


def with_etag(response: Response, etag: str) -> Response:
    """The same answer carrying its version."""
    response["ETag"] = etag
    return response
