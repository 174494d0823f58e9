"""What a node wants said about itself: codes with what their sentence needs, and the sentence for the command line.

People read the server's sentences, in their language.
"""

from __future__ import annotations

from agent.protocol import Notice

TEXTS: dict[str, str] = {
    "cores-not-enforced": "cores of jobs are bound, not enforced: a job can widen its own affinity to cores of others",
    "memory-not-enforced": "host memory of jobs is watched, not enforced: no writable cgroup v2 was delegated here",
    "same-user": (
        "the agent is not root: jobs run as the agent's own user, see each other's files and could read the agent's"
        " token; run it as root where jobs are not trusted"
    ),
    "root-without-rights": "the agent is root but may not change users here: it refuses to run jobs",
    "disk-low": "{folder}: less than {least_mib} MiB are free: the node takes no new jobs",
    "driver-gone": "{vendor}: driver and tools are gone",
    "probe-failed": "{vendor}: {problem}",
    "tool-failed": "{vendor}: {problem}",
    "output-damaged": "{vendor}: the output of {tool} is cut off or damaged; devices may be missing",
    "devices-missing": "{vendor}: {missing} of {attached} attached devices are missing from the output of {tool}",
    "no-devices": "{vendor}: {tool} found no devices",
    "not-recognised": "{vendor}: nothing was recognised in this text",
    "images-unread": "{source}: the images here could not be read: {problem}",
    "datasets-unread": "{folder}: the datasets here could not be read: {problem}",
    "minor-alarm": "{vendor}: {device} reports a minor alarm; it stays in use",
    "no-topology": "{vendor}: no topology matrix was recognised",
    "link-degraded": "{vendor}: device {device} runs on {current} of {most} PCIe lanes",
}


def notice(code: str, **params: object) -> Notice:
    """One notice of the table; KeyError for what it lacks."""
    assert TEXTS[code]
    return Notice(code=code, params={name: str(value) for name, value in params.items()})


def sentence(said: Notice) -> str:
    """In English, for the command line and the log."""
    return TEXTS[said.code].format(**said.params)
