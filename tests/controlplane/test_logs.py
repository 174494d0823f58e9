"""Logs are JSON lines without secrets."""

from __future__ import annotations

import json
import logging
import logging.config

import pytest
import structlog

from controlplane.base.logs import HIDDEN, hide_secrets, logging_config


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"password": "x"}, {"password": HIDDEN}),
        ({"headers": {"Authorization": "Bearer hr_abcdefgh12"}}, {"headers": {"Authorization": HIDDEN}}),
        ({"event": "got hr_0123456789abcdef from x"}, {"event": f"got {HIDDEN} from x"}),
        ({"event": "Authorization: Bearer abc.def"}, {"event": f"Authorization: Bearer {HIDDEN}"}),
        ({"url": "redis://:pass@host:1/0"}, {"url": f"redis://{HIDDEN}@host:1/0"}),
        ({"url": "postgres://u:p@h/d"}, {"url": f"postgres://{HIDDEN}@h/d"}),
        ({"list": [{"api_key": "k"}]}, {"list": [{"api_key": HIDDEN}]}),
        ({"job": 12, "fencing_token": 7, "node": "n1"}, {"job": 12, "fencing_token": 7, "node": "n1"}),
    ],
)
def test_secrets_are_hidden(event: dict, expected: dict) -> None:
    assert hide_secrets(None, "info", event) == expected


def test_both_kinds_of_loggers_write_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    config = logging_config("INFO")
    handler = logging.config.DictConfigurator(config)
    formatter = handler.configure_formatter(config["formatters"]["json"])
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "token hr_abcdefgh1234 %s", ("y",), None)
    line = json.loads(formatter.format(record))
    assert line["event"] == f"token {HIDDEN} y" and line["level"] == "info"
    assert structlog.is_configured()
