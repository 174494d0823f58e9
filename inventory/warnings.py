"""Sentences about what is odd on a node, in the language now active."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from controlplane.base.problems import PLACE, filled

# What agents say (agent/notices.py has the same codes), and below what is found in their facts here.
TEXTS: Mapping[str, Promise | str] = {
    "cores-not-enforced": _(
        "Cores of jobs are bound, not enforced: a job can widen its own affinity to cores of others."
    ),
    "memory-not-enforced": _(
        "Host memory of jobs is watched, not enforced: no writable cgroup v2 was delegated to the agent."
    ),
    "same-user": _(
        "The agent is not root: jobs run as the agent's own user, see each other's files and could read the agent's "
        "token. Run it as root where jobs are not trusted."
    ),
    "root-without-rights": _("The agent is root but may not change users here: it refuses to run jobs."),
    "disk-low": _(
        "%(folder)s: less than %(least_mib)s MiB are free. The node takes no new jobs until there is room."
    ),
    "driver-gone": _("%(vendor)s: driver and tools are gone."),
    "probe-failed": _("%(vendor)s: the devices could not be read: %(problem)s"),
    "tool-failed": _("%(vendor)s: a tool failed: %(problem)s"),
    "output-damaged": _("%(vendor)s: the output of %(tool)s is cut off or damaged; devices may be missing."),
    "devices-missing": _(
        "%(vendor)s: %(missing)s of %(attached)s attached devices are missing from the output of %(tool)s."
    ),
    "no-devices": _("%(vendor)s: %(tool)s found no devices."),
    "not-recognised": _("%(vendor)s: nothing was recognised in the output of its tool."),
    "images-unread": _("%(source)s: the images on the node could not be read: %(problem)s"),
    "datasets-unread": _("%(folder)s: the datasets on the node could not be read: %(problem)s"),
    "minor-alarm": _("%(vendor)s: %(device)s reports a minor alarm; it stays in use."),
    "no-topology": _("%(vendor)s: no topology matrix was recognised."),
    "link-degraded": _("%(vendor)s: device %(device)s runs on %(current)s of %(most)s PCIe lanes."),
    "impossible-number": _("%(field)s: %(value)s is impossible and counts as unknown."),
    "too-many": _("%(field)s: of %(count)s entries only the first %(limit)s are kept."),
    "control-character": _("%(field)s: entries with control characters are left out."),
    "device-twice": _("%(device)s is reported twice; the first one counts."),
    "link-unknown": _("The link %(a)s-%(b)s does not join two known devices."),
}


def warning(code: str, **params: object) -> dict[str, Any]:
    """One warning as it is stored."""
    assert TEXTS[code]
    return {"code": code, "params": {name: str(value) for name, value in params.items()}}


def warning_text(entry: Any) -> str:
    """The sentence of a stored warning. Prose of older agents stays as it is, and what a newer one says that this
    server does not know is shown by code. What an agent leaves out is unknown.
    """
    if not isinstance(entry, dict):
        return str(entry)
    code, params = entry["code"], entry["params"]
    if code in TEXTS:
        text = str(TEXTS[code])
        return filled(text, {name: params.get(name) or _("unknown") for name in PLACE.findall(text)})
    said = ", ".join(f"{name}: {value}" for name, value in params.items())
    return f"{code} ({said})" if said else str(code)
