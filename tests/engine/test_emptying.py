"""Nodes with nothing on them: what is cleared, and what stays as it is."""

from dataclasses import fields, replace

from scheduling.engine.emptying import emptied
from scheduling.engine.types import DeviceHealth, Hold, LinkInfo, SliceChoice
from scheduling.whatif import FIRST_DEVICE, FIRST_NODE, AddNodes, Situation, edited
from tests.engine.build import GIB, POLICY, cpus, device, node

FREE = node(
    1,
    [device(1), device(2, health=DeviceHealth.QUARANTINED, parent=1), device(3, parent=77)],
    links=(LinkInfo(1, 2, "NV", 12),),
    images=("train:1",),
    power_cap_mw=9,
)
FULL = replace(
    FREE,
    not_ready="silent",
    memory_booked_mib=GIB,
    read_bandwidth_booked_mib_s=3,
    measured_mw=4,
    holds=(Hold(7, (SliceChoice(1, GIB, 1),)),),
    cpus=tuple(replace(c, booked=True) for c in cpus(16)),
    devices=tuple(
        replace(d, memory_booked_mib=GIB, memory_used_mib=2 * GIB, compute_booked_milli=9, foreign_mib=5)
        for d in FREE.devices
    ),
)


def test_all_that_passes_is_cleared_and_all_else_stays() -> None:
    assert emptied(FULL) == emptied(FREE) == FREE


def test_twins_are_empty_and_know_their_own_devices_only() -> None:
    before = Situation((FULL,), (), POLICY, 0, 0)
    _, first, second = edited(before, [AddNodes(1, 2)]).nodes
    assert (first.node, second.node) == (FIRST_NODE, FIRST_NODE + 1)
    ids = [d.device for d in first.devices]
    assert min(ids) >= FIRST_DEVICE and not set(ids) & {d.device for d in second.devices}
    assert first.devices[1].parent == ids[0]
    assert first.devices[2].parent not in {77, *ids, None}
    assert (first.links[0].a, first.links[0].b) == (ids[0], ids[1])
    changed = {f.name for f in fields(FREE) if getattr(first, f.name) != getattr(FREE, f.name)}
    assert changed == {"node", "name", "devices", "links"}
