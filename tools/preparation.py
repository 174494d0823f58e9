"""All that has to be there before anything runs: Python packages and a built console, side by side where possible."""

from concurrent.futures import ThreadPoolExecutor

from tools.console import say
from tools.frontend import ensure_console, system_node
from tools.venv import Profile, ensure_venv


def set_up(profile: Profile) -> None:
    say("Headrace: set up")
    if system_node() is None:
        # Node comes as a wheel then, into the environment that has to be there first.
        ensure_venv(profile)
        ensure_console()
        return
    with ThreadPoolExecutor(max_workers=2) as pool:
        for part in (pool.submit(ensure_venv, profile), pool.submit(ensure_console)):
            part.result()
