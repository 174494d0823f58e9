"""The virtual environment: made, filled from the hashed lock files, repaired when stale or half done."""

import enum
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tools.console import ROOT, BuildError, run_quietly, say, step
from tools.locks import LOCK_FOLDER, check_locks_are_current

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "headrace-setup.json"
OWN_DISTRIBUTIONS = ("agent", "client")
NOT_OURS_TO_REMOVE = {"pip", "setuptools", "wheel", "uv", "headrace-agent", "headrace-client"}
NETWORK_FIX = "check the network and pip's index settings, then run the same command again"


class Profile(enum.Enum):
    """What the environment is for; `DEV` contains everything of `RUN`."""

    RUN = ("build", "server", "agent", "client")
    DEV = ("dev",)

    @property
    def locks(self) -> list[Path]:
        return [LOCK_FOLDER / f"{name}.lock" for name in self.value]


def ensure_venv(profile: Profile) -> None:
    """Makes `.venv` fit for the profile; does nothing when its stamp says that it is."""
    check_locks_are_current()
    if is_ready(profile):
        return
    # Without a stamp nobody knows what an interrupted install or a careless hand left: installers trust what is there.
    if read_stamp() is None or not venv_works():
        create_venv()
    STAMP.unlink(missing_ok=True)
    with step(f"install the locked Python packages ({profile.name.lower()})"):
        install_locks(profile.locks)
        remove_strays(profile)
        install_own_distributions()
    STAMP.write_text(
        json.dumps({"profile": profile.name, "digest": digest_of(profile), "python": python_tag()})
    )


def is_ready(profile: Profile) -> bool:
    stamp = read_stamp()
    if stamp is None:
        return False
    stamped, digest, python = stamp
    current = digest == digest_of(stamped) and python == python_tag()
    return current and stamped in (profile, Profile.DEV) and venv_works()


def read_stamp() -> tuple[Profile, str, str] | None:
    """Profile, digest and Python of the last whole install; None when there was none."""
    try:
        stamp = json.loads(STAMP.read_text())
        return Profile[stamp["profile"]], stamp["digest"], stamp["python"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def digest_of(profile: Profile) -> str:
    """Names the locks, our two distributions and the folder: a moved or copied clone is set up anew."""
    digest = hashlib.sha256(str(ROOT).encode())
    for path in [*profile.locks, *(ROOT / name / "pyproject.toml" for name in OWN_DISTRIBUTIONS)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def python_tag() -> str:
    return f"{sysconfig.get_platform()} {sys.version_info.major}.{sys.version_info.minor}"


def venv_works() -> bool:
    """False for a venv that is missing, half made, moved, or whose Python is gone or another version."""
    probe = (
        "import sys, sysconfig; print(sys.prefix, sysconfig.get_platform(), '%d.%d' % sys.version_info[:2])"
    )
    try:
        done = subprocess.run([PYTHON, "-c", probe], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == f"{VENV} {python_tag()}"


def create_venv() -> None:
    with step("make the virtual environment .venv"):
        shutil.rmtree(VENV, ignore_errors=True)
        if VENV.exists():
            raise BuildError(
                f"{VENV} cannot be replaced (another user's files?). Fix: remove it, then run again"
            )
        run_quietly([base_python(), "-m", "venv", "--without-pip", VENV], fix="apt-get install python3-venv")
        if uv_path() is None and not pip_runs():
            add_pip()


def base_python() -> str:
    """The interpreter itself when we were started from inside some virtual environment."""
    return getattr(sys, "_base_executable", "") or sys.executable


def uv_path() -> str | None:
    return shutil.which("uv") or shutil.which("uv", path=str(VENV / "bin"))


def pip_runs() -> bool:
    """Whether this interpreter's own pip can install into another environment (`pip --python`, since 22.3)."""
    done = subprocess.run(
        [base_python(), "-m", "pip", "--python", PYTHON, "--version"], capture_output=True, check=False
    )
    return done.returncode == 0


def has_ensurepip() -> bool:
    # Debian ships an `ensurepip` without wheels, so importing it proves nothing; starting it does.
    done = subprocess.run([base_python(), "-m", "ensurepip", "--version"], capture_output=True, check=False)
    return done.returncode == 0


def add_pip() -> None:
    if not has_ensurepip():
        install_debian_package()
    run_quietly([PYTHON, "-m", "ensurepip", "--upgrade"], fix=missing_pip_fix())


def install_debian_package() -> None:
    """As root on Debian or Ubuntu the one missing package is installed; everybody else is told its name."""
    package = debian_package()
    if os.geteuid() != 0 or shutil.which("apt-get") is None or os.environ.get("HEADRACE_NO_APT"):
        raise BuildError(f"this Python has neither pip nor ensurepip.\nFix: {missing_pip_fix()}")
    say(
        f"  .. this Python has no pip: installing the system package {package} (HEADRACE_NO_APT=1 forbids it)"
    )
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    run_quietly(["apt-get", "update", "-q"], env=env, fix=missing_pip_fix())
    run_quietly(
        ["apt-get", "install", "-y", "-q", "--no-install-recommends", package], env=env, fix=missing_pip_fix()
    )


def debian_package() -> str:
    return f"python{sys.version_info.major}.{sys.version_info.minor}-venv"


def missing_pip_fix() -> str:
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install {debian_package()}   (or install uv), then run the same command again"


def install_locks(locks: list[Path]) -> None:
    requirements = [part for lock in locks for part in ("-r", str(lock))]
    install(["--require-hashes", *requirements])


def install_own_distributions() -> None:
    """`headrace-agent` and `headrace` run from this tree, so an edit needs no new install."""
    editable = [part for name in OWN_DISTRIBUTIONS for part in ("-e", str(ROOT / name))]
    install(["--no-deps", "--no-build-isolation", *editable])


def install(arguments: list[str]) -> None:
    """By uv, which takes seconds where pip takes minutes; by pip where uv cannot be had or cannot reach its index."""
    env = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    uv = uv_path() or fetch_uv(env)
    if uv is not None:
        try:
            command = [uv, "pip", "install", "--python", str(PYTHON), "--compile-bytecode", *arguments]
            return run_quietly(command, env=uv_environment(), fix=NETWORK_FIX)
        except BuildError:
            # uv does not read pip's configuration, where an inside mirror may be named.
            say("  .. uv failed; trying pip")
    ensure_pip()
    return run_quietly([*pip_command(), "install", "--quiet", *arguments], env=env, fix=NETWORK_FIX)


def uv_environment() -> dict[str, str]:
    return {
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_LINK_MODE": "copy",
        "UV_HTTP_TIMEOUT": "30",
        "UV_NO_PROGRESS": "1",
    }


def fetch_uv(env: dict[str, str]) -> str | None:
    """uv itself comes by pip, hashed like everything else; its absence is no reason to stop."""
    ensure_pip()
    lock = str(LOCK_FOLDER / "installer.lock")
    try:
        command = [*pip_command(), "install", "--quiet", "--no-compile", "--require-hashes", "-r", lock]
        run_quietly(command, env=env, fix=NETWORK_FIX)
    except BuildError:
        say("  .. uv is not to be had here; pip takes longer")
        return None
    return uv_path()


def ensure_pip() -> None:
    if not has_own_pip() and not pip_runs():
        add_pip()


def has_own_pip() -> bool:
    return (VENV / "bin" / "pip3").exists()


def pip_command() -> list[str]:
    """The environment's own pip, else this interpreter's, told to work on the environment."""
    if has_own_pip():
        return [str(PYTHON), "-m", "pip"]
    return [base_python(), "-m", "pip", "--python", str(PYTHON)]


def remove_strays(profile: Profile) -> None:
    """Packages of an older lock go, since a left-over pytest plug-in or an old module changes behaviour."""
    keep = NOT_OURS_TO_REMOVE | {name for lock in LOCK_FOLDER.glob("*.lock") for name in names_in(lock)}
    strays = sorted(installed_names() - keep)
    if not strays:
        return None
    say(f"  .. removing packages that the lock no longer names: {', '.join(strays)}")
    uv = uv_path()
    if uv is not None:
        command = [uv, "pip", "uninstall", "--python", str(PYTHON), *strays]
        return run_quietly(command, env=uv_environment(), fix=NETWORK_FIX)
    return run_quietly(
        [*pip_command(), "uninstall", "--quiet", "--yes", *strays], fix="remove .venv and run again"
    )


def installed_names() -> set[str]:
    probe = "import importlib.metadata as m, json; print(json.dumps([d.metadata['Name'] for d in m.distributions()]))"
    done = subprocess.run([PYTHON, "-c", probe], capture_output=True, text=True, check=True)
    return {normalised(name) for name in json.loads(done.stdout) if name}


def names_in(lock: Path) -> set[str]:
    found = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==", lock.read_text(), flags=re.MULTILINE)
    return {normalised(name) for name in found}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
