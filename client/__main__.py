"""Entry point of the `headrace` command."""

from __future__ import annotations

import sys

import typer
from typer.exceptions import TyperException

from client.cli import app
from client.errors import ApiError, ClientError, Exit, NotSignedIn, Unreachable
from client.messages import say
from client.options import told
from client.render import escape_controls


def main() -> None:
    """Run the command; every expected failure is one line on standard error and a documented exit code."""
    try:
        # Typer would end misuse with 2, which may as well be a job's own code, and Ctrl-D with 1.
        code = app(standalone_mode=False)
    except TyperException as error:
        sys.stderr.write(escape_controls(error.format_message(), keep="\n") + "\n")
        sys.exit(int(Exit.USAGE))
    except typer.Abort:
        sys.exit(int(Exit.CANCELLED))
    except ClientError as error:
        sys.stderr.write(escape_controls(_sentence(error), keep="\n") + "\n")
        sys.exit(int(error.exit_code))
    except BrokenPipeError:
        # The reader of our output left; Python would complain again while flushing at exit.
        sys.stderr.close()
        sys.exit(int(Exit.INTERNAL))
    sys.exit(code if isinstance(code, int) else 0)


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
