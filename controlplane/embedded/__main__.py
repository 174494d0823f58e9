"""`python -m controlplane.embedded`: what `make run` runs; `manage.py up` is the same behind Django's door."""

import sys
from argparse import ArgumentParser

from controlplane.embedded.errors import EmbeddedError
from controlplane.embedded.plan import find_address
from controlplane.embedded.start import Start
from controlplane.embedded.state import find_state

DESCRIPTION = (
    "Starts PostgreSQL, Valkey, web, workers, beat and one agent for this machine; stops them on Ctrl-C."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--demo", action="store_true", help="add a simulated cluster of mixed nodes")
    parser.add_argument("--no-agent", action="store_true", help="start no agent for this machine")


def say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    # Without Django, whose import would cost the start a second or two.
    parser = ArgumentParser(prog="python -m controlplane.embedded", description=DESCRIPTION)
    add_arguments(parser)
    options = parser.parse_args()
    try:
        Start(state=find_state(), address=find_address(), say=say).run(
            demo=options.demo, with_agent=not options.no_agent
        )
    except EmbeddedError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
