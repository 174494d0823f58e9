"""Reading one JSON object field by field: every fault is collected with the field it concerns, nothing is
guessed or ignored. Pure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from controlplane.base.problems import Fault
from controlplane.base.texts import LINES, has_control_character
from queues.quantity import QuantityFault, read_mib

NumberT = TypeVar("NumberT", int, float)
LINE_CHARACTERS = LINES


@dataclass(frozen=True)
class FieldError:
    """One fault of a request: the field's path, a code, and what its sentence needs."""

    field: str
    code: str
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def text_fault(text: str, *, allowed: str = "") -> str | None:
    """The code of what makes a text unfit to be stored and shown, None when it is fine."""
    return Fault.CONTROL_CHARACTER if has_control_character(text, allowed=allowed) else None


class Fields:
    """The members of one JSON object; `errors` is shared by all objects of one request."""

    def __init__(self, raw: Mapping[str, Any], *, path: str, errors: list[FieldError]) -> None:
        self._raw = raw
        self._path = path
        self._known: set[str] = set()
        self.errors = errors

    def refuse(self, name: str, code: str, **params: Any) -> None:
        """Record a fault of one member."""
        self.errors.append(FieldError(self.at(name), code, params))

    def at(self, name: str) -> str:
        """The path of one member."""
        return f"{self._path}.{name}" if self._path else name

    def there(self, name: str) -> bool:
        """Whether the member is there, null or not."""
        self._known.add(name)
        return name in self._raw

    def given(self, name: str) -> bool:
        """Whether the member is there and not null."""
        self._known.add(name)
        return self._raw.get(name) is not None

    def value(self, name: str) -> Any:
        """The member as it came; None when absent."""
        self._known.add(name)
        return self._raw.get(name)

    def refuse_unknown(self) -> None:
        """Record every member that nobody asked for."""
        for name in self._raw:
            if name not in self._known:
                self.refuse(str(name)[:100], Fault.UNKNOWN_FIELD)

    def integer(self, name: str, *, low: int, high: int) -> int | None:
        """A JSON integer; true, 1.0 and "1" are none."""
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.refuse(name, Fault.TYPE, expected="integer")
            return None
        return self._within(name, value, low=low, high=high)

    def number(self, name: str, *, low: float, high: float) -> float | None:
        """A JSON number; true and "1" are none."""
        value = self.value(name)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            self.refuse(name, Fault.TYPE, expected="number")
            return None
        return self._within(name, value, low=low, high=high)

    def memory_mib(self, name: str, *, high: int) -> int | None:
        """An integer of MiB, or a text with a unit."""
        value = self.value(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return self._within(name, value, low=1, high=high, unit=" MiB")
        if not isinstance(value, str):
            return self.integer(name, low=1, high=high)
        amount = read_mib(value)
        if isinstance(amount, QuantityFault):
            self.refuse(name, amount.value, value=value[:40] if text_fault(value) is None else "")
            return None
        return self._within(name, amount, low=1, high=high, unit=" MiB")

    def boolean(self, name: str) -> bool | None:
        """A JSON boolean."""
        value = self.value(name)
        if value is None or isinstance(value, bool):
            return value
        self.refuse(name, Fault.TYPE, expected="boolean")
        return None

    def text(self, name: str, *, longest: int, allowed: str = "") -> str | None:
        """A text that is not empty and has no control characters but those allowed."""
        value = self.value(name)
        return None if value is None else self.checked_text(name, value, longest=longest, allowed=allowed)

    def choice(self, name: str, options: Collection[str]) -> str | None:
        """One of a closed set."""
        value = self.value(name)
        if value is None or (isinstance(value, str) and value in options):
            return value
        self.refuse(name, Fault.CHOICE, options=", ".join(sorted(options)))
        return None

    def texts(
        self, name: str, *, most: int, longest: int, allowed: str = "", empty: bool = False
    ) -> list[str]:
        """A list of texts in the order given; faults name the element."""
        value = self.value(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.refuse(name, Fault.TYPE, expected="list")
            return []
        if len(value) > most:
            self.refuse(name, Fault.MAX_LENGTH, limit=most)
            return []
        found = [
            self.checked_text(f"{name}[{i}]", item, longest=longest, allowed=allowed, empty=empty)
            for i, item in enumerate(value)
        ]
        return [item for item in found if item is not None]

    def text_map(
        self,
        name: str,
        *,
        most: int,
        longest: int,
        allowed: str = "",
        key_fault: Callable[[str], str | None],
    ) -> dict[str, str]:
        """An object from texts to texts."""
        value = self.value(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.refuse(name, Fault.TYPE, expected="object")
            return {}
        if len(value) > most:
            self.refuse(name, Fault.MAX_LENGTH, limit=most)
            return {}
        found: dict[str, str] = {}
        for key, item in value.items():
            fault = key_fault(key)
            if fault is not None:
                self.refuse(name, fault, key=key[:100] if text_fault(key) is None else "")
                continue
            checked = self.checked_text(f"{name}.{key}", item, longest=longest, allowed=allowed, empty=True)
            if checked is not None:
                found[key] = checked
        return found

    def checked_text(
        self, name: str, value: Any, *, longest: int, allowed: str = "", empty: bool = False
    ) -> str | None:
        """The value when it is a fit text, else None with the fault recorded."""
        if not isinstance(value, str):
            self.refuse(name, Fault.TYPE, expected="string")
        elif not value and not empty:
            self.refuse(name, Fault.EMPTY)
        elif len(value) > longest:
            self.refuse(name, Fault.MAX_LENGTH, limit=longest)
        elif text_fault(value, allowed=allowed) is not None:
            self.refuse(name, Fault.CONTROL_CHARACTER)
        else:
            return value
        return None

    def _within(
        self, name: str, value: NumberT, *, low: float, high: float, unit: str = ""
    ) -> NumberT | None:
        if not value >= low:
            self.refuse(name, Fault.MIN, limit=f"{low}{unit}")
        elif value > high:
            self.refuse(name, Fault.MAX, limit=f"{high}{unit}")
        else:
            return value
        return None
