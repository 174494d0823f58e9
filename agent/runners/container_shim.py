"""The supervisor of one container: fetches its image, creates and starts it, keeps its log, stops it, and writes how it
ended. It shares files and habits with `shim.py`, so the agent finds containers and processes again alike.

Besides those files it writes `pull`: how far the fetching of the image is. The engine is a command line (podman or
docker), called with argument lists; a call that hangs is given up.
"""

import json
import marshal
import os
import select
import signal
import subprocess
import sys
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # python -I leaves it out
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.runners import shim
    from agent.runners.leftovers import kill_user
else:
    import shim
    from leftovers import kill_user

CALL_TIMEOUT_S = 60.0
LONGEST_LINE = 200
PULL_NOTE_S = 0.5
AGAIN_S = 0.5
START_PATIENCE_S = 60.0
ENGINE_PATIENCE_S = 120.0
STOP_CHECK_S = 1.0
NEVER = "0001-01-01"
LAYER_SEEN = ("Copying blob", "Pulling fs layer", "Already exists")
LAYER_DONE = ("Pull complete", "Already exists")
START_CODES = (125, 126, 127)
# What the first process of a container says when it cannot become the job's command.
INIT_FAILURES = ("failed to exec pid1", "[FATAL tini")


class ContainerJob(shim.Job):
    """What the supervisor knows of its one container."""

    def __init__(self, directory: str, spec: dict) -> None:
        super().__init__(directory, spec)
        self.client: subprocess.Popen | None = None
        self.created = False
        self.started = False


class Pull:
    """How far the fetching of the image is; written down now and then."""

    def __init__(self, directory: str, image: str) -> None:
        self.path = f"{directory}/pull"
        self.image = image
        self.began = time.monotonic()
        self.layers = self.layers_done = 0
        self.text = ""
        self.rest = b""
        self.noted = 0.0

    def sink(self, handle: int) -> bool:
        """Take one piece of the engine's output; False at its end."""
        data = os.read(handle, shim.CHUNK)
        self.take(data or b"\n")
        return bool(data)

    def take(self, data: bytes) -> None:
        """Read what the engine says: which layers there are, and what is going on."""
        *lines, self.rest = (self.rest + data).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace").strip()
            self.layers += any(mark in text for mark in LAYER_SEEN)
            self.layers_done += any(mark in text for mark in LAYER_DONE)
            self.text = text[:LONGEST_LINE] or self.text
        self.tick()

    def tick(self) -> None:
        """Write it now and then, also while the engine says nothing, which it does all through a layer."""
        if time.monotonic() - self.noted > PULL_NOTE_S:
            self.note(done=False)

    def note(self, *, done: bool) -> None:
        """Write how far it is; what the disk does not take is written next time."""
        self.noted = time.monotonic()
        facts = {"image": self.image, "began_ms": time.time_ns() // 1_000_000 - self.elapsed_ms()}
        facts |= {"done": int(done), "ms": self.elapsed_ms()}
        facts |= {"layers": self.layers or "", "layers_done": self.layers_done or "", "text": self.text}
        try:
            with open(f"{self.path}.new", "wb") as target:
                target.write(shim.lines(facts))
            os.rename(f"{self.path}.new", self.path)
        except OSError:
            return

    def elapsed_ms(self) -> int:
        """Time since it began."""
        return round((time.monotonic() - self.began) * 1000)


def main(directory: str, notify: int) -> int:
    """Supervise the container described in `directory` to its end."""
    with open(f"{directory}/spec", "rb") as source:
        job = ContainerJob(directory, marshal.load(source))
    if not shim.claim(job):
        return shim.ALREADY_STARTED
    os.unlink(f"{directory}/spec")
    try:
        supervise(job, notify)
    except Exception as error:
        job.reason = "lost-process" if job.started else job.reason or "start-failed"
        job.message = f"supervision failed: {error}"
    clean_up(job)
    shim.finish(job)
    return 0


def supervise(job: ContainerJob, notify: int) -> None:
    """Fetch, create, run; every step can be called off."""
    shim.prepare_signals(job)
    job.log = os.open(f"{job.directory}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    if fetch(job) and create(job):
        run(job, notify)


def fetch(job: ContainerJob) -> bool:
    """Have the image here; False with the reason when that failed or was called off."""
    pull = Pull(job.directory, job.spec["image"])
    if is_called_off(job):
        return False
    here = image_id(job)
    if here and not job.spec["always_pull"]:
        return True
    pull.note(done=False)
    argv = [*job.spec["pull_engine"], "pull", *job.spec["pull_options"], job.spec["image"]]
    status = attend(job, argv, pull.sink, environment=job.spec["pull_env"], tick=pull.tick)
    forget_secret(job)
    pull.note(done=status == 0)
    if status == 0 and here and image_id(job) == here:
        os.unlink(pull.path)  # the registry said yes to what was here already
    if status == 0 or job.reason:
        return not job.reason
    job.reason, job.message = "start-failed", f"the image could not be fetched: {pull.text or 'no message'}"
    return False


def image_id(job: ContainerJob) -> str:
    """Which image is here under the job's name for it; empty for none."""
    status, output = call(job, ["image", "inspect", "--format={{.Id}}", job.spec["image"]])
    return output.strip() if status == 0 else ""


def forget_secret(job: ContainerJob) -> None:
    """The registry's secret is needed no more."""
    folder = job.spec["secret_folder"]
    if folder:
        for path in (f"{folder}/config.json", folder):
            try:  # noqa: SIM105 - contextlib would slow every start
                (os.rmdir if path == folder else os.unlink)(path)
            except OSError:
                pass


def create(job: ContainerJob) -> bool:
    """Make the container; an earlier one of this very task can only be a leftover."""
    if is_called_off(job):
        return False
    call(job, ["rm", "--force", job.spec["name"]])
    job.created = True
    status, output = call(job, ["create", *job.spec["create"]])
    os.unlink(f"{job.directory}/env")  # as with the rest of the orders: secrets may be in it
    if status != 0:
        job.reason, job.message = "start-failed", f"the container could not be made: {last_line(output)}"
    return status == 0 and not is_called_off(job)


def run(job: ContainerJob, notify: int) -> None:
    """Start it and stay with it: a client that loses its engine comes back as long as the container runs."""
    name = job.spec["name"]
    argv = ["start", "--attach", name]
    while True:
        attend(job, [*job.spec["engine"], *argv], log_sink(job), notify=notify)
        state = inspect(job)
        if state.get("Status") not in ("running", "paused", "stopping"):
            break
        argv = ["attach", "--no-stdin", "--sig-proxy=false", name]
        select.poll().poll(int(AGAIN_S * 1000))
    conclude(job, state)


def attend(
    job: ContainerJob,
    argv: list,
    sink: "Callable[[int], bool]",
    *,
    notify: int | None = None,
    environment: dict | None = None,
    tick: "Callable[[], None] | None" = None,
) -> int:
    """Run one client of the engine to its end, its output into `sink`; signals and deadlines are heeded meanwhile."""
    client = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment or job.spec["engine_env"],
        cwd=job.directory,  # some podmans note here, not beside the container, that the kernel killed for memory
        start_new_session=True,
    )
    job.client, job.output = client, client.stdout.fileno()  # type: ignore[union-attr]
    if notify is not None and not job.started:
        note_start(job, notify)
    poller = select.poll()
    poller.register(job.output, select.POLLIN)
    poller.register(job.wakeup, select.POLLIN)
    open_ = True
    while open_ or client.poll() is None:
        for handle, _ in poller.poll(next_timeout_ms(job, open_=open_)):
            if handle == job.wakeup:
                on_signals(job)
            elif not sink(job.output):
                poller.unregister(job.output)
                open_ = False
        on_deadlines(job)
        if tick is not None:
            tick()
    client.stdout.close()  # type: ignore[union-attr]
    job.client = None
    return client.wait()


def next_timeout_ms(job: ContainerJob, *, open_: bool) -> int:
    """Time until the next deadline or the next look at our folder; short while only the client's end is missing."""
    return min(shim.next_timeout_ms(job), int(STOP_CHECK_S * 1000) if open_ else 20)


def note_start(job: ContainerJob, notify: int) -> None:
    """Wait until the container runs and write down which process it is; its output waits in the pipe."""
    deadline = time.monotonic() + START_PATIENCE_S
    while job.client is not None and time.monotonic() < deadline:
        ended = job.client.poll() is not None
        state = inspect(job, patience_s=0.0)
        pid = state.get("Pid") or 0
        if pid or (ended and was_started(state)):
            write_started(job, pid)
            shim.tell(notify)
            return
        if ended:
            return
        select.poll().poll(50)


def write_started(job: ContainerJob, pid: int) -> None:
    """The facts of a running container; one that ended at once has no process to name."""
    job.started = True
    try:
        cpus = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(pid))) if pid else ""
    except OSError:
        cpus = ""
    facts = {"pid": pid or "", "start_ticks": shim.start_ticks(pid) if pid else ""}
    shim.write_whole(
        f"{job.directory}/started", facts | {"started_at_ms": time.time_ns() // 1_000_000, "cpus": cpus}
    )
    if job.spec["time_limit_s"]:
        job.limit_at = time.monotonic() + job.spec["time_limit_s"]


def log_sink(job: ContainerJob) -> "Callable[[int], bool]":
    """The container's output into the log, up to its cap."""
    return lambda _: shim.copy_output(job)


def first_words(job: ContainerJob) -> str:
    """The log of a job that said little; empty for others."""
    if job.log_bytes > 4096:
        return ""
    with open(f"{job.directory}/log", encoding="utf-8", errors="replace") as log:
        return log.read()


def conclude(job: ContainerJob, state: dict) -> None:
    """From the engine's last word to the job's end."""
    code = state.get("ExitCode")
    if not state:
        job.reason, job.message = job.reason or "lost-process", job.message or "the engine lost the container"
        return
    if not job.started and was_started(state):
        write_started(job, 0)
    said = first_words(job)
    if not job.started or (code and any(mark in said for mark in INIT_FAILURES)):
        job.reason = job.reason or "start-failed"
        why = state.get("Error") or last_line(said)
        job.message = job.message or f"{job.spec['command']}: {why}"[:1000]
        job.status = (code if code in START_CODES else 127) << 8
        return
    number = code - 128 if isinstance(code, int) and 128 < code < 160 else 0
    job.status = number if number in set(signal.Signals) else (code or 0) << 8
    starved = state.get("OOMKilled") or os.path.exists(f"{job.directory}/oom")
    if starved and code and not job.reason:
        limit = job.spec["memory_mib"]
        job.reason, job.message = "memory-limit", f"the kernel killed it at its memory limit of {limit} MiB"


def was_started(state: dict) -> bool:
    """Whether the container ever ran."""
    return bool(state) and not str(state.get("StartedAt", NEVER)).startswith(NEVER)


def inspect(job: ContainerJob, *, patience_s: float = ENGINE_PATIENCE_S) -> dict:
    """The container's state; empty when it is gone or the engine does not answer for long."""
    deadline = time.monotonic() + patience_s
    while True:
        status, output = call(job, ["container", "inspect", "--format={{json .State}}", job.spec["name"]])
        if status == 0:
            try:
                found = json.loads(output.strip().splitlines()[-1])
                return found if isinstance(found, dict) else {}
            except (ValueError, IndexError):
                return {}
        if "no such" in output.lower() or time.monotonic() >= deadline:
            return {}
        select.poll().poll(1000)


def call(job: ContainerJob, arguments: list) -> tuple[int, str]:
    """One short call of the engine: its status and all it said; a call that hangs has status 124."""
    try:
        done = subprocess.run(
            [*job.spec["engine"], *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=job.spec["engine_env"],
            cwd="/",
            timeout=CALL_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, f"the engine gave no answer within {CALL_TIMEOUT_S:g} s"
    return done.returncode, done.stdout.decode("utf-8", "replace")


def last_line(text: str) -> str:
    """What an engine says last is why it failed."""
    found = text.strip().splitlines()
    return found[-1][:500] if found else "no message"


def is_called_off(job: ContainerJob) -> bool:
    """Whether the job shall end before it began."""
    if not job.reason and os.path.exists(f"{job.directory}/stop"):
        job.reason, job.message = "stopped", "stopped before it was started"
    return bool(job.reason)


def on_signals(job: ContainerJob) -> None:
    """Read the signals that came and act on them."""
    if signal.SIGTERM in os.read(job.wakeup, 256):
        end(job, "stopped", "")


def on_deadlines(job: ContainerJob) -> None:
    """Stop wanted, time limit reached or folder gone: ask the container to end. Grace over: kill it."""
    now = time.monotonic()
    if not job.reason and shim.is_forgotten(job):
        end(job, "stopped", "its folder was deleted")
    if not job.reason and os.path.exists(f"{job.directory}/stop"):
        end(job, "stopped", "" if job.started else "stopped before it was started")
    if job.limit_at is not None and now >= job.limit_at:
        end(job, "time-limit", f"time limit of {job.spec['time_limit_s']} s reached")
    if job.kill_at is not None and now >= job.kill_at:
        job.kill_at = now + 5.0
        strike(job)


def end(job: ContainerJob, reason: str, message: str) -> None:
    """Ask the container to end, or give up fetching its image; the first reason stays."""
    if job.reason:
        return
    job.reason, job.message, job.limit_at = reason, message, None
    job.kill_at = time.monotonic() + job.spec["grace_s"]
    if job.started:
        call(job, ["kill", "--signal=TERM", job.spec["name"]])
    elif job.client is not None:
        signal_client(job, signal.SIGTERM)


def strike(job: ContainerJob) -> None:
    """Kill the container; where its engine is deaf, its user's processes."""
    if not job.started:
        signal_client(job, signal.SIGKILL)
        return
    status, _ = call(job, ["kill", "--signal=KILL", job.spec["name"]])
    if status != 0 and job.spec["uid"] is not None:
        kill_user(job.spec["uid"])


def signal_client(job: ContainerJob, number: int) -> None:
    """Signal the client's group."""
    if job.client is not None and job.client.poll() is None:
        try:  # noqa: SIM105 - contextlib would slow every start
            os.killpg(job.client.pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def clean_up(job: ContainerJob) -> None:
    """Nothing of a container outlives its job."""
    forget_secret(job)
    if job.created:
        if job.started and job.status is None:
            call(job, ["kill", "--signal=KILL", job.spec["name"]])
        call(job, ["rm", "--force", "--volumes", job.spec["name"]])
    if job.spec["uid"] is not None:
        kill_user(job.spec["uid"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else -1))
