"""The configuration file of the agent that runs beside the control plane on this machine."""

import json
from pathlib import Path

from controlplane.embedded.plan import Address
from controlplane.embedded.state import StateFolder, write_private


def write_agent_config(state: StateFolder, address: Address) -> Path:
    """TOML, mode 0600; the token file is written by `manage.py bootstrap` and used up at the first contact."""
    values = {
        "server": address.url,
        "state_dir": str(state.agent),
        "token_file": str(state.enrolment_token),
    }
    path = state.agent / "agent.toml"
    # A JSON string is a TOML basic string as well.
    write_private(path, "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()))
    return path
