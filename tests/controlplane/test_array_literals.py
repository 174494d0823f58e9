"""Arrays that are written as text by us: what PostgreSQL reads of them is what was given."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection

from controlplane.base.arrays import array_literal

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("bigint", []),
        ("bigint", [0, -1, None, 2**63 - 1, -(2**63)]),
        ("int", [None]),
        (
            "timestamptz",
            [datetime(2026, 2, 28, 23, 59, 59, 999_999, UTC), None, datetime(1, 1, 1, tzinfo=UTC)],
        ),
    ],
)
def test_it_is_read_as_it_was_given(kind, values):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT %s::{kind}[]", [array_literal(values)])
        assert cursor.fetchone() == (values,)
