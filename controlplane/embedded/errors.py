"""The one error of this package."""


class EmbeddedError(Exception):
    """A start that cannot go on; the message names the cause and the fix."""
