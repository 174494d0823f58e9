"""Which images are wanted where: those of waiting jobs on nodes that could run them, and those that started often
lately on nodes like the ones they ran on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from controlplane.policy.active import active_policy
from controlplane.policy.document import ImageWarming
from inventory.images import pushes, starts
from inventory.images.names import canonical
from inventory.models import PushWhy
from inventory.remote import hosts
from scheduling.engine import filters
from scheduling.engine.facts import AGENTLESS
from scheduling.engine.frame import whole_frame
from scheduling.engine.ledger import Ledger
from scheduling.engine.shapes import demand_of
from scheduling.engine.types import SIMULATED, NodeInfo, ReasonCode
from scheduling.selectors.live import Live, live_view

# A node that falls out only here could run the job once something there ends.
_LATER = filters.number_of(ReasonCode.DEVICE_BUSY)
MOST_SHAPES = 200


@dataclass(frozen=True)
class Wanted:
    """One image on one node."""

    node: int
    image: str


def refresh_wanted() -> int:
    """Ask for what is wanted, have old copies fetched anew and unwanted ones removed; how many are new."""
    warming = active_policy().images
    if not warming.enabled:
        return 0
    live = live_view()
    over_ssh = hosts.nodes_with_images()
    nodes = {info.node: info for info in live.state.infos if may_be_warmed(info, over_ssh=over_ssh)}
    history = starts.starts_since(warming.history_days)
    here = {node: {canonical(image) for image in info.images} for node, info in nodes.items()}
    added = 0
    # Last the jobs that wait, so that they are named as the reason where both want the same.
    for why, found in (
        (PushWhy.USUAL, _for_history(nodes, history, warming)),
        (PushWhy.WAITING, _for_waiting(live, warming)),
    ):
        pairs = {(one.node, one.image) for one in found if one.node in nodes}
        added += pushes.want(pairs, here=here, why=why)
    pushes.refresh_old(warming)
    pushes.give_up_unwanted(warming)
    starts.forget_old(warming.history_days)
    return added


def may_be_warmed(info: NodeInfo, *, over_ssh: Collection[int]) -> bool:
    """Nodes that take jobs with images, and really fetch them; and those that are to fetch them over SSH."""
    takes = info.not_ready is None or (info.not_ready == AGENTLESS and info.node in over_ssh)
    return takes and not info.observe_only and info.runs_containers and SIMULATED not in info.labels


def _for_waiting(live: Live, warming: ImageWarming) -> Iterator[Wanted]:
    """The nodes that come nearest to each waiting shape: those that would take it, then those that may later."""
    frame = whole_frame(Ledger(live.state))
    shapes = dict.fromkeys(job.request for job in live.pending if job.request.image is not None)
    for request in list(shapes)[:MOST_SHAPES]:
        verdicts = filters.run(frame, demand_of(request, live.policy.engine)).verdicts
        for row in np.argsort(-verdicts, kind="stable")[: warming.copies].tolist():
            if verdicts[row] >= _LATER:
                yield Wanted(int(live.state.node.id[row]), canonical(request.image or ""))


def _for_history(
    nodes: Mapping[int, NodeInfo], history: Mapping[str, Mapping[int, int]], warming: ImageWarming
) -> Iterator[Wanted]:
    """Common images on the nodes where they start most, and then on others of the same node sets."""
    for image, by_node in history.items():
        if sum(by_node.values()) < warming.least_starts:
            continue
        sets = {nodes[node].node_set for node in by_node if node in nodes}
        like = [info for info in nodes.values() if info.node_set in sets]
        # Apart from one another: others start jobs on nodes without an agent, and no copy there serves ours.
        for agentless in (False, True):
            group = [info.node for info in like if (info.not_ready == AGENTLESS) is agentless]
            best = sorted(group, key=lambda node: (-by_node.get(node, 0), node))
            yield from (Wanted(node, image) for node in best[: warming.copies])
