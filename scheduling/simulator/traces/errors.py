"""What is wrong with a trace file, where, and what to do about it."""

from __future__ import annotations


class TraceError(ValueError):
    """A trace that cannot be read. `line` counts from 1 (the header included), None for the file as a whole."""

    def __init__(
        self, file: str, problem: str, *, fix: str, line: int | None = None, column: str | None = None
    ) -> None:
        self.file, self.line, self.column = file, line, column
        self.problem, self.fix = problem, fix
        at = "" if line is None else f", line {line}"
        of = "" if column is None else f", column {column!r}"
        super().__init__(f"{file}{at}{of}: {problem}; {fix}")
