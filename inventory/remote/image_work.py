"""Image work on nodes without an agent: what is wanted there is fetched over SSH, and removed where it was fetched so.
One tick at a time works, on several nodes side by side; the orders are those that agents get (`images.pushes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import structlog

from agent.protocol import ImageAction, ImageResult
from controlplane.base import clock, locks
from controlplane.policy.document import ImageWarming
from inventory.images import pushes
from inventory.images.names import NAME
from inventory.images.secrets import SecretMissing, SecretUnusable, find, used_for
from inventory.remote import hosts, ssh
from inventory.remote.commands import Command
from inventory.remote.image_commands import FETCH, FETCH_LIMIT_S, HERE, LOOK, REMOVE
from inventory.remote.ssh import Connection, Printed, Unreached, Way

log = structlog.get_logger(__name__)

PARALLEL = 16
# So long one tick gives orders; what it began it ends.
TICK_S = 600.0
LEASE, LEASE_S, RENEW_S = "images-over-ssh", 120.0, 20.0
# Nothing is given out again before whoever has it must be done.
NODE_LIMIT_S = FETCH_LIMIT_S + 300.0
assert pushes.LEASE.total_seconds() > NODE_LIMIT_S
NO_SUCH_IMAGE = ("image not known", "No such image")
ROUND_TRIP_S = 2.0


@dataclass(frozen=True, slots=True)
class Orders:
    """What one node is to do; of `known` images it is known that they are there by our wish, and `secrets` names what
    registries want for some.
    """

    node: int
    way: Way
    pull: tuple[str, ...] = ()
    prune: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()
    secrets: Mapping[str, str] = field(default_factory=dict)


CarryOut = Callable[[Orders], Sequence[ImageResult]]


@dataclass(slots=True)
class _Tick:
    warming: ImageWarming
    pool: ThreadPoolExecutor
    carry_out: CarryOut
    ends_s: float
    running: dict[Future[Sequence[ImageResult]], Orders] = field(default_factory=dict)
    results: int = 0

    def start(self) -> None:
        """Orders for every node that has none yet, as far as the policy lets nodes fetch side by side."""
        busy = {orders.node for orders in self.running.values()}
        ways = hosts.ways_for_images()
        for node in pushes.nodes_with_work(set(ways) - busy):
            if len(self.running) >= PARALLEL or clock.monotonic_s() >= self.ends_s:
                return
            pull, prune = pushes.next_orders(node, self.warming)
            if pull or prune:
                known, names = pushes.fetched_before(node), used_for(pull)
                orders = Orders(node, ways[node], tuple(pull), tuple(prune), known, names)
                self.running[self.pool.submit(self.carry_out, orders)] = orders

    def finish(self, lease: locks.LeaseToken) -> None:
        """Wait a while for nodes that are done, and note how it went."""
        done, _ = wait(self.running, timeout=RENEW_S, return_when=FIRST_COMPLETED)
        locks.renew(lease, ttl_s=LEASE_S)
        for future in done:
            orders, results = self.running.pop(future), future.result()
            pushes.take_results(orders.node, results)
            hosts.read_anew(orders.node)
            self.results += len(results)


def work(warming: ImageWarming, *, carry_out: CarryOut | None = None) -> int:
    """Do what is to be done; the number of orders that ended. Nothing while another tick works, here or elsewhere."""
    lease = locks.take_lease(LEASE, holder="remote", ttl_s=LEASE_S)
    if lease is None:
        return 0
    try:
        with ThreadPoolExecutor(PARALLEL, thread_name_prefix="images") as pool:
            tick = _Tick(warming, pool, carry_out or on_node, clock.monotonic_s() + TICK_S)
            tick.start()
            while tick.running:
                tick.finish(lease)
                tick.start()
        return tick.results
    except locks.LeaseLost:
        log.warning("image-work-taken-over")
        return 0
    finally:
        locks.release(lease)


def on_node(orders: Orders) -> list[ImageResult]:
    """Carry out orders; one result each, whatever happens. Touches no database: it runs in a thread of its own."""
    results: list[ImageResult] = []
    work_ = [(ImageAction.PULL, image) for image in orders.pull]
    work_ += [(ImageAction.PRUNE, image) for image in orders.prune]
    problem = ""
    try:
        with ssh.connected(orders.way, deadline_s=clock.monotonic_s() + NODE_LIMIT_S) as connection:
            for action, image in work_:
                results.append(_do(connection, action, image, orders))
    except Unreached as error:
        problem = f"{error.problem.value}: {error.detail}"
    except Exception as error:  # a fault of ours, or of a library, at one node is no other's
        log.exception("image-work-failed", node=orders.node)
        problem = type(error).__name__
    missing = work_[len(results) :]
    return results + [ImageResult(image, action, ok=False, problem=problem) for action, image in missing]


def _do(connection: Connection, action: ImageAction, image: str, orders: Orders) -> ImageResult:
    if not NAME.fullmatch(image):
        return ImageResult(image, action, ok=False, problem="this is no name of an image")
    if action is ImageAction.PRUNE:
        problem = _why(_ask(connection, REMOVE, image))
        gone = any(mark in problem for mark in NO_SUCH_IMAGE)
        return ImageResult(image, action, ok=gone or not problem, problem="" if gone else problem)
    if image not in orders.known and HERE.encode() in _ask(connection, LOOK, image).data:
        return ImageResult(image, action, ok=True, ours=False)
    name = orders.secrets.get(image)
    try:
        secret = [] if name is None else [_document(name, image)]
    except (SecretMissing, SecretUnusable):
        problem = f"the server has no usable secret {name}"
        return ImageResult(image, action, ok=False, problem=problem)
    begun_s = clock.monotonic_s()
    problem = _why(_ask(connection, FETCH, image, *secret))
    ms = round((clock.monotonic_s() - begun_s) * 1000)
    return ImageResult(image, action, ok=not problem, ms=ms, problem=problem)


def _document(name: str, image: str) -> str:
    """A secret that is not for the image's registry any more goes to no node."""
    secret = find(name)
    if not secret.is_for(image):
        raise SecretMissing(name)
    return secret.document()


def _ask(connection: Connection, command: Command, image: str, *more: str) -> Printed:
    told = "".join(f"{line}\n" for line in (image, *more)).encode()
    limit_s = command.limit_s + ROUND_TRIP_S
    return connection.run(command.line, limit_s=limit_s, most_bytes=command.most_bytes, told=told)


def _why(printed: Printed) -> str:
    """The last line is what an engine fails of."""
    said = printed.data.decode("utf-8", "replace").strip().splitlines()
    return "" if not printed.problem else (said[-1] if said else printed.problem)[:500]
