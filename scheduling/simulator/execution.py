"""How fast a placed job runs, and when it will end; integers only, so that replays are exact.

Work is counted in ms at full speed, times PPM. A job at speed s (ppm) does s x dt of it in dt ms. With
booked cores c (milli), need n (milli), its node's declared reads R and read bandwidth B (MiB/s):

    CPU starvation        s_cpu  = min(PPM, PPM x c / n)       where n is stated, else PPM
    bandwidth contention  s_read = min(PPM, PPM x B / R)       for a job that reads, else PPM
    speed                 s = max(1, min(s_cpu, s_read)), of a gang its slowest replica's

A pull takes ceil(1000 x image_mib / pull_mib_s) ms on a node that lacks the image; devices are booked
meanwhile, and idle. Measured use of a job is duty x s / PPM of what it has booked.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.types import PPM
from scheduling.simulator.cluster import Cluster, Part
from scheduling.simulator.jobs import SimJob

CORE_MILLI = 1000


@dataclass(slots=True, eq=False)
class Running:
    """One attempt of a job; `left` is work x PPM, `version` tells a stale end from the present one."""

    job: SimJob
    attempt: int
    parts: tuple[Part, ...]
    left: int
    since_ms: int
    speed_ppm: int = 0
    version: int = 0

    @property
    def milli(self) -> int:
        """Device-milli that it has booked."""
        return sum(milli for part in self.parts for _, _, milli in part.devices)

    @property
    def busy(self) -> int:
        """Measured use: booked milli x duty x speed / PPM, in milli x PPM."""
        return self.milli * self.job.duty_ppm * self.speed_ppm // PPM

    def advance(self, now_ms: int) -> None:
        """Do the work of the time since the last call."""
        self.left = max(0, self.left - self.speed_ppm * (now_ms - self.since_ms))
        self.since_ms = now_ms

    def end_ms(self) -> int:
        """When the rest will be done at the present speed."""
        return self.since_ms + -(-self.left // self.speed_ppm)

    def done_ms(self) -> int:
        """Work done so far, in whole ms at full speed."""
        return self.job.duration_ms - -(-self.left // PPM)


def speed_ppm(job: SimJob, part: Part, cluster: Cluster) -> int:
    """Speed of one replica beside what its node now runs."""
    speed = PPM
    if job.cpu_need_milli:
        speed = min(speed, PPM * CORE_MILLI * len(part.cpus) // job.cpu_need_milli)
    limit, reads = cluster.read_mib_s(part.node), cluster.info(part.node).read_bandwidth_booked_mib_s
    if limit is not None and part.read_mib_s and reads > limit:
        speed = min(speed, PPM * limit // reads)
    return max(1, speed)


def pull_ms(job: SimJob, part: Part, cluster: Cluster) -> int:
    """Time until the image is there; 0 when it is, or when the job names none."""
    image = job.request.image
    if image is None or cluster.has_image(part.node, image):
        return 0
    return -(-1000 * (job.request.image_mib or 0) // cluster.hardware.pull_mib_s)
