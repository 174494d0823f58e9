"""The supervisor of one job: starts it bound and confined, keeps its log, stops it, and writes how it ended.

Runs apart from the agent (`python -I -S shim.py TASK_DIR [NOTIFY_FD]`), so a job outlives an agent restart.
It imports little, because its
start lies on the path from assignment to first instruction. Files in TASK_DIR: `spec` (in), `start`
(exclusive: a task never starts twice),
`started`, `exit`, `log` (out), `stop` (in: present = the job shall end; SIGTERM says so promptly).
"""

import ctypes
import marshal
import os
import resource
import select
import signal
import sys
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # python -I leaves it out
TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent.runners.leftovers import kill_user, survivors
else:
    from leftovers import kill_user, survivors

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 1, 24, 36
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY_EVER = 63
ALREADY_STARTED = 75
DRAIN_S = 1.0
KILL_PATIENCE_S = 30.0
LAST_WORD_PATIENCE_S = 3600.0
FOLDER_CHECK_S = 5.0
CHUNK = 65536
KILL_PAUSE_MS = 20
libc = ctypes.CDLL(None, use_errno=True)


class Job:
    """What the shim knows of its one job while it runs."""

    def __init__(self, directory: str, spec: dict) -> None:
        self.directory = directory
        self.spec = spec
        self.pid = 0
        self.status: int | None = None
        self.alone = False  # no descendant is left
        self.reason = ""
        self.message = ""
        self.kill_at: float | None = None
        self.limit_at: float | None = None
        self.log_bytes = 0
        self.log = -1
        self.output = -1
        self.wakeup = -1


def main(directory: str, notify: int) -> int:
    """Supervise the job described in `directory` to its end."""
    with open(f"{directory}/spec", "rb") as source:
        job = Job(directory, marshal.load(source))
    if not claim(job):
        return ALREADY_STARTED
    os.unlink(f"{directory}/spec")  # it holds the job's environment
    try:
        supervise(job, notify)
    except Exception as error:
        job.reason = "lost-process" if job.pid else "start-failed"
        job.message = f"supervision failed: {error}"
        kill_rest(job)
    finish(job)
    return 0


def supervise(job: Job, notify: int) -> None:
    """Start the job unless it was already called off, and stay with it."""
    prepare_signals(job)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    job.spec["shim"] = os.getpid()
    job.log = os.open(f"{job.directory}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    if os.path.exists(f"{job.directory}/stop"):
        job.reason, job.message = "stopped", "stopped before it was started"
    elif start(job, notify):
        watch(job)


def claim(job: Job) -> bool:
    """Become the only supervisor of this task; the record names us, so that the agent can find us again."""
    path = f"{job.directory}/start"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as source:
        boot_id = source.read().strip()
    facts = {"pid": os.getpid(), "start_ticks": start_ticks(os.getpid()), "boot_id": boot_id}
    facts["uid"] = "" if job.spec["uid"] is None else job.spec["uid"]
    try:
        write_all(handle, lines(facts))
    except OSError:
        os.unlink(path)  # nothing has started, and half a name is worse than none
        raise
    finally:
        os.close(handle)
    return True


def start_ticks(pid: int) -> int:
    """Start time of a process in clock ticks since boot; with the pid it names a process for good. 0 if there
    is none.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as source:
            return int(source.read().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def lines(facts: dict) -> bytes:
    """`key=value` lines; values hold no line break."""
    return "".join(f"{k}={' '.join(str(v).split())}\n" for k, v in facts.items()).encode("utf-8", "replace")


def write_whole(path: str, facts: dict) -> None:
    """Write a small file so that a reader sees all of it or nothing, also after a power cut."""
    handle = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(handle, lines(facts))
        os.fsync(handle)
    finally:
        os.close(handle)
    os.rename(f"{path}.new", path)


def write_all(handle: int, data: bytes) -> None:
    """Write every byte or raise: a nearly full disk takes a part and says so only in the count."""
    while data:
        data = data[os.write(handle, data) :]


def prctl(option: int, *arguments: int) -> int:
    """Call prctl(2); returns -1 where the kernel refuses or does not know the option."""
    padded = [*arguments, 0, 0, 0, 0][:4]
    return libc.prctl(option, *(ctypes.c_ulong(value) for value in padded))


def prepare_signals(job: Job) -> None:
    """Signals become bytes in a pipe, so that one poll() waits for output and signals alike."""
    job.wakeup, sender = os.pipe()
    os.set_blocking(job.wakeup, False)
    os.set_blocking(sender, False)
    signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)


def start(job: Job, notify: int) -> bool:
    """Fork and exec the job; False with reason and message when it did not come up."""
    job.output, writer = os.pipe()
    errors, error_writer = os.pipe()
    started_at_ms = time.time_ns() // 1_000_000
    job.pid = os.fork()
    if job.pid == 0:
        become_job(job.spec, writer, error_writer)
    os.close(writer)
    os.close(error_writer)
    problem = os.read(errors, 4096)
    os.close(errors)
    if problem:
        code, _, text = problem.decode("utf-8", "replace").partition(" ")
        os.waitpid(job.pid, 0)
        job.reason, job.message, job.status, job.alone = "start-failed", text, int(code) << 8, True
        return False
    cpus = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(job.pid))) if alive(job.pid) else ""
    write_whole(
        f"{job.directory}/started",
        {"pid": job.pid, "start_ticks": start_ticks(job.pid), "started_at_ms": started_at_ms, "cpus": cpus},
    )
    if job.spec["time_limit_s"]:
        job.limit_at = time.monotonic() + job.spec["time_limit_s"]
    tell(notify)
    return True


def alive(pid: int) -> bool:
    """Whether the process exists (a zombie does)."""
    return os.path.exists(f"/proc/{pid}")


def tell(notify: int) -> None:
    """Wake the agent that started us; if it is gone, nobody listens and that is fine."""
    if notify >= 0:
        try:  # noqa: SIM105 - contextlib would slow every start
            os.write(notify, b"s")
        except OSError:
            pass


def become_job(spec: dict, output: int, errors: int) -> None:
    """In the child: confine, drop rights, exec. Never returns; problems go through the pipe as `exit_code text`."""
    step = "prepare"
    try:
        os.setsid()
        restore_signals()
        redirect(output)
        errors = move_to(errors, 3)
        os.closerange(4, 1 << 20)
        step = "confine"
        confine(spec)
        step = "change to the job's user"
        drop_rights(spec)
        step = f"enter the working directory {spec['working_dir'] or spec['home']}"
        enter(spec)
        step = "run"
        execute(spec["command"], spec["env"])
    except BaseException as error:  # anything at all must reach the agent as a failed start
        os.write(errors, describe(step, spec, error).encode("utf-8", "replace")[:4000])
    os._exit(126)


def execute(command: list, env: dict) -> None:
    """As execvpe, which would import modules that the job's user may be unable to read."""
    name = command[0]
    if "/" in name:
        os.execve(name, command, env)
    problem: OSError = FileNotFoundError(2, "no such file")
    for folder in env.get("PATH", "").split(":"):
        try:
            os.execve(f"{folder or '.'}/{name}", command, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problem = error
    raise problem


def describe(step: str, spec: dict, error: BaseException) -> str:
    """The shell's conventions: 127 = not found, 126 = found but cannot run."""
    text = getattr(error, "strerror", None) or str(error)
    if step == "run" and isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return f"127 command not found: {spec['command'][0]}"
    if step == "run":
        return f"126 cannot run {spec['command'][0]}: {text}"
    return f"126 cannot {step}: {text}"


def restore_signals() -> None:
    """Python ignores SIGPIPE and we ignore more; a job starts with the defaults."""
    signal.set_wakeup_fd(-1)
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            continue
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def redirect(output: int) -> None:
    """Input from nowhere, both outputs into the log pipe."""
    nothing = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)


def move_to(handle: int, target: int) -> int:
    """Bring a descriptor to a known number, closed on exec."""
    if handle != target:
        os.dup2(handle, target, inheritable=False)
    return target


def confine(spec: dict) -> None:
    """Cores, limits and the like, while we may still set them."""
    for path in spec["cgroup_procs"]:
        with open(path, "w", encoding="ascii") as group:
            group.write(str(os.getpid()))
    if spec["cpus"]:
        os.sched_setaffinity(0, spec["cpus"])
        if sorted(os.sched_getaffinity(0)) != sorted(spec["cpus"]):
            raise OSError(22, f"cores {spec['cpus']} are not all usable here")
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("500")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    soft = spec["nofile"] if hard == resource.RLIM_INFINITY else min(spec["nofile"], hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if spec["nproc"]:  # counted per user, so only for a user that is the job's alone
        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most = spec["nproc"] if hard == resource.RLIM_INFINITY else min(spec["nproc"], hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    os.umask(0o077)
    os.chdir(spec["home"])  # before the user changes: its parents may be closed to the job


def drop_rights(spec: dict) -> None:
    """Become the job's user and give up every capability and any way to get one back."""
    for capability in range(LAST_CAPABILITY_EVER + 1):
        prctl(PR_CAPBSET_DROP, capability)
    if spec["uid"] is not None:
        os.fchown(1, spec["uid"], spec["uid"])  # else the job could not open /dev/stderr and the like
        os.setgroups([])
        os.setresgid(spec["uid"], spec["uid"], spec["uid"])
        os.setresuid(spec["uid"], spec["uid"], spec["uid"])
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) != 0 or prctl(PR_SET_NO_NEW_PRIVS, 1) != 0:
        raise OSError(ctypes.get_errno(), "the kernel refused to drop capabilities")
    prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != spec["shim"]:
        os._exit(126)


def enter(spec: dict) -> None:
    """The job's own folder unless it asked for another, which it must be able to enter as itself."""
    if spec["working_dir"]:
        os.chdir(spec["working_dir"])


def watch(job: Job) -> None:
    """Copy output to the log, react to signals and deadlines, until the job and all it started are gone."""
    poller = select.poll()
    poller.register(job.output, select.POLLIN)
    poller.register(job.wakeup, select.POLLIN)
    if os.path.exists(f"{job.directory}/stop"):
        stop(job, "stopped", "")
    while job.status is None:
        for handle, _ in poller.poll(next_timeout_ms(job)):
            if handle == job.wakeup:
                on_signals(job)
            elif not copy_output(job):
                poller.unregister(job.output)
        on_deadlines(job)
    kill_rest(job)
    drain(job)


def next_timeout_ms(job: Job) -> int:
    """Time until the next deadline, or the next look at our folder."""
    now = time.monotonic()
    deadlines = [at - now for at in (job.kill_at, job.limit_at) if at is not None]
    return max(0, int(min([*deadlines, FOLDER_CHECK_S]) * 1000) + 1)


def is_forgotten(job: Job) -> bool:
    """Whether our folder is gone: then no agent finds us again, and nobody else ends the job."""
    return not os.path.exists(f"{job.directory}/start")


def on_signals(job: Job) -> None:
    """Read the signals that came and act on them."""
    numbers = os.read(job.wakeup, 256)
    if signal.SIGTERM in numbers:
        stop(job, "stopped", "")
    reap(job)


def on_deadlines(job: Job) -> None:
    """Time limit reached or folder gone: ask the job to end. Grace over: kill it."""
    now = time.monotonic()
    if not job.reason and is_forgotten(job):
        stop(job, "stopped", "its folder was deleted")
    if job.limit_at is not None and now >= job.limit_at:
        job.limit_at = None
        stop(job, "time-limit", f"time limit of {job.spec['time_limit_s']} s reached")
    if job.kill_at is not None and now >= job.kill_at and job.status is None:
        job.kill_at = now + 1.0
        signal_group(job, signal.SIGKILL)
        kill_all(job)
        reap(job)


def stop(job: Job, reason: str, message: str) -> None:
    """Ask the job's group to end; the first reason stays."""
    if job.reason:
        return
    job.reason, job.message = reason, message
    job.limit_at = None
    job.kill_at = time.monotonic() + job.spec["grace_s"]
    signal_group(job, signal.SIGTERM)
    signal_group(job, signal.SIGCONT)


def signal_group(job: Job, number: int) -> None:
    """Signal the job's process group if it still exists."""
    try:  # noqa: SIM105 - contextlib would slow every start
        os.killpg(job.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def reap(job: Job) -> None:
    """Collect ended children; descendants of the job come to us as their subreaper."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            job.alone = True
            return
        if pid == 0:
            return
        if pid == job.pid:
            job.status = status


def kill_rest(job: Job) -> None:
    """Nothing of a job outlives it: kill what is left until we have no child and its user no process."""
    deadline = time.monotonic() + KILL_PATIENCE_S
    while True:
        left = kill_all(job)
        reap(job)
        if job.alone and not left:
            return
        if time.monotonic() > deadline:
            job.message = f"{job.message} some of its processes do not die (stuck in the kernel)".strip()
            return
        select.poll().poll(KILL_PAUSE_MS)


def kill_all(job: Job) -> bool:
    """Kill every descendant and, with a user of its own, every process of that user; True if any was left."""
    uid = None if job.spec.get("shares_user") else job.spec["uid"]
    struck = uid is None or kill_user(uid)
    victims = survivors(os.getpid(), uid)
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    return bool(victims) or not struck


def copy_output(job: Job) -> bool:
    """Move one piece of output to the log, up to its cap; False at the end of output."""
    data = os.read(job.output, CHUNK)
    if not data:
        return False
    room = job.spec["log_limit_bytes"] - job.log_bytes
    if room <= 0:
        return True
    if len(data) >= room:
        data = data[:room] + b"\n[headrace: the log reached its limit; further output was dropped]\n"
        job.log_bytes = job.spec["log_limit_bytes"]
    else:
        job.log_bytes += len(data)
    try:
        os.write(job.log, data)
    except OSError as error:
        job.message = f"log could not be written: {error.strerror}"
    return True


def drain(job: Job) -> None:
    """Take what is still in the pipe; writers are dead, so this ends at once."""
    poller = select.poll()
    poller.register(job.output, select.POLLIN)
    deadline = time.monotonic() + DRAIN_S
    while poller.poll(KILL_PAUSE_MS) and time.monotonic() < deadline:
        if not copy_output(job):
            return


def finish(job: Job) -> None:
    """Write how the job ended; the log is on disk before that."""
    if job.log >= 0:
        try:
            os.fsync(job.log)
        except OSError as error:
            job.message = job.message or f"log could not be written: {error.strerror}"
    status = job.status
    signalled = status is not None and os.WIFSIGNALED(status)
    facts = {
        "reason": job.reason or ("signalled" if signalled else "exited"),
        "exit_code": os.WEXITSTATUS(status) if status is not None and not signalled else "",
        "signal": os.WTERMSIG(status) if status is not None and signalled else "",
        "ended_at_ms": time.time_ns() // 1_000_000,
        "message": job.message,
    }
    deadline = time.monotonic() + LAST_WORD_PATIENCE_S
    while True:
        try:
            return write_whole(f"{job.directory}/exit", facts)
        except OSError:
            if time.monotonic() > deadline:
                raise
        # The job is over, so its files may go: often it was they that filled the disk.
        os.spawnv(os.P_WAIT, "/bin/rm", ["rm", "-rf", "--", job.spec["home"]])
        if is_forgotten(job):
            return None
        select.poll().poll(1000)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else -1))
