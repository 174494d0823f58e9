"""The environment that every test starts from: none of the caller's settings of Headrace."""

import os
import signal

KEPT = ("HEADRACE_TEST_", "HEADRACE_SHARED", "HEADRACE_PROPERTY_CASES", "HEADRACE_MUTATIONS")


def scrub_environment() -> None:
    for name in [name for name in os.environ if name.startswith("HEADRACE_") and not name.startswith(KEPT)]:
        del os.environ[name]
    os.environ["TZ"] = "UTC"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell ignores Ctrl-C for what it starts in the background, and what tests start would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
