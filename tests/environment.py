"""A pytest plug-in: a clean environment for all tests, and real servers for those that ask for them.

Loaded by `-p` before Django reads its settings, so that they find the addresses. In a pure run (HEADRACE_TEST_PURE=1,
`make test-pure`) there are neither servers nor Django: to load them takes longer than most of its tests.
"""

import os

import pytest

from tests.clean import scrub_environment

PURE = os.environ.get("HEADRACE_TEST_PURE") == "1"
if not PURE:
    import tests.services

SERVICES = None if PURE else tests.services.SERVICES
if PURE:
    # With servers it is done before their addresses are named.
    scrub_environment()


def pytest_addoption(parser: pytest.Parser) -> None:
    if PURE:
        # Of the plug-in that is left out; a setting that nobody knows is an error.
        parser.addini("DJANGO_SETTINGS_MODULE", "not used here")
        parser.addini("django_find_project", "not used here", type="bool")


def pytest_configure(config: pytest.Config) -> None:
    # Workers come and go; what they share must belong to the process that outlives them.
    if SERVICES is not None and getattr(config.option, "dist", "no") != "no" and SERVICES.owns_folder:
        SERVICES.start_postgres()


def pytest_unconfigure() -> None:
    if SERVICES is not None:
        SERVICES.close()
