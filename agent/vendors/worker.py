"""A vendor's probe in a process of its own: one JSON answer per line of input, so that a hanging driver hangs
only here.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from agent.protocol import Vendor
from agent.vendors import PROBES
from agent.vendors.base import Probe, ProbeError, Readout


class Answer(msgspec.Struct, frozen=True):
    """A readout or the reason why there is none."""

    readout: Readout | None = None
    problem: str = ""


def serve(vendor: Vendor, root: Path) -> None:
    """Answer until the agent closes our input."""
    probe = PROBES[vendor](root)
    for _ in sys.stdin.buffer:
        sys.stdout.buffer.write(_answer(probe) + b"\n")
        sys.stdout.buffer.flush()


def _answer(probe: Probe) -> bytes:
    """JSON, whatever the probe says: what cannot be told is its own failure, never the agent's."""
    try:
        return msgspec.json.encode(Answer(readout=probe.read()))
    except ProbeError as error:
        problem = str(error)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return msgspec.json.encode(Answer(problem=problem.encode("utf-8", "replace").decode()))


if __name__ == "__main__":
    serve(Vendor(sys.argv[1]), Path(sys.argv[2]))
