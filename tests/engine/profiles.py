"""How many random cases a property sees: 200, or as many as HEADRACE_PROPERTY_CASES says (`make test-deep`)."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

CASES = int(os.environ.get("HEADRACE_PROPERTY_CASES", "200"))


def property_test(test: Any) -> Any:
    """Marks a property: no deadline, for the machine may be busy; the number of cases as above."""
    many = settings(max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    return pytest.mark.property(many(test))
