"""Logs: one JSON object per line on standard error, without secrets."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any

import structlog

SECRET_KEY = re.compile(
    r"password|passwd|secret|token|authorization|cookie|credential|api_?key", re.IGNORECASE
)
# Our own tokens, bearer headers, and passwords inside addresses, wherever they stand in a text.
SECRET_TEXT = re.compile(r"hr[a-z]*_[A-Za-z0-9_-]{8,}|(?<=[Bb]earer )\S+|(?<=://)[^/@\s]*:[^/@\s]*(?=@)")
HIDDEN = "***"
MAX_DEPTH = 6


def hide_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: values under secret names and secret-looking texts become ***."""
    for key, value in event.items():
        event[key] = _hidden(key, value, 0)
    return event


def _hidden(key: str, value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return HIDDEN if value and SECRET_KEY.search(key) else SECRET_TEXT.sub(HIDDEN, value)
    if isinstance(value, bytes) and SECRET_KEY.search(key):
        return HIDDEN
    if depth >= MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {k: _hidden(str(k), v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(key, item, depth + 1) for item in value]
    return value


SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    hide_secrets,
]


def logging_config(level: str) -> dict[str, Any]:
    """The dictConfig of all processes; the standard library's loggers end in the same lines."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.JSONRenderer(default=repr, ensure_ascii=True),
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # A 4xx is an answer, not an event; 5xx are logged as errors.
            "django.request": {"level": "ERROR"},
            "django.security.csrf": {"level": "ERROR"},
        },
    }


def configure_structlog() -> None:
    """Called once per process, after the standard library's logging is set up."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
