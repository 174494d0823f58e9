"""Entry point of the `headrace` command."""

from __future__ import annotations

import sys

from client.cli import app
from client.errors import ApiError, ClientError, Exit, NotSignedIn, Unreachable
from client.messages import say
from client.options import told
from client.render import escape_controls


def main() -> None:
    """Run the command; every expected failure is one line on standard error and a documented exit code."""
    try:
        app()
    except ClientError as error:
        sys.stderr.write(escape_controls(_sentence(error), keep="\n") + "\n")
        sys.exit(int(error.exit_code))
    except BrokenPipeError:
        # The reader of our output left; Python would complain again while flushing at exit.
        sys.stderr.close()
        sys.exit(int(Exit.INTERNAL))


def _sentence(error: ClientError) -> str:
    if isinstance(error, NotSignedIn):
        return say("bad-credentials" if "password" in str(error) else "not-signed-in")
    if isinstance(error, Unreachable):
        return say("unreachable", detail=str(error))
    if isinstance(error, ApiError):
        return told(error)
    return str(error)


if __name__ == "__main__":
    main()
