"""Every command line that is ever sent to a node without an agent. All are constants: nothing of a request, a row or an
answer becomes part of one, and none changes anything on the node.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agent.protocol import Vendor

MIB = 1 << 20
LIVE, HOST, KERNEL_LOG, BOARDS = "live", "host", "kernel-log", "npu-smi boards"
TOOL_LIMIT_S = 8
TOOL_MARK = "#tool "
# Ends what a script of ours prints: an answer without it is cut off. A tool says so with its exit status.
WHOLE = 'echo "#whole"'
# Where vendors put their tools; the PATH of a command over SSH seldom has these folders.
_FOLDERS = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/usr/local/Ascend/driver/tools",
    "/opt/rocm/bin",
    "/usr/local/neuware/bin",
    "/opt/hyhal/bin",
    "/usr/local/hyhal/bin",
    "/opt/dtk/bin",
    "/usr/local/corex/bin",
    "/opt/mxdriver/bin",
    "/opt/maca/bin",
    "/opt/hpcc/bin",
)


@dataclass(frozen=True, slots=True)
class Question:
    """What one tool is asked; `rare` ones only with the facts of the host. Where errors would garble a JSON document
    they are left out.
    """

    arguments: str
    rare: bool = False
    errors: bool = True


@dataclass(frozen=True, slots=True)
class Tool:
    """A vendor's tool; it is not asked where one of `instead` is."""

    name: str
    vendor: Vendor
    questions: tuple[Question, ...]
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """One script with its bounds; `tool` is what has to be on the node for it."""

    name: str
    script: str
    limit_s: int
    most_bytes: int
    vendor: Vendor | None = None
    tool: str = ""
    rare: bool = False

    @property
    def line(self) -> str:
        """The script for whatever login shell the user has. What hangs is killed on the node, with all that it started:
        sshd gives each command a group of processes of its own.
        """
        watch = f"i=0; while [ $i -lt {self.limit_s} ]; do sleep 1; kill -0 $$ || exit; i=$((i+1)); done; kill -9 0"
        bound = (
            f'PATH="$PATH:{":".join(_FOLDERS)}"; '
            f'if command -v timeout >/dev/null 2>&1; then exec timeout -s KILL {self.limit_s} sh -c "$0"; fi; '
            f'( {watch} ) >/dev/null 2>&1 </dev/null & exec sh -c "$0"'
        )
        return f"env LC_ALL=C sh -c '{bound}' '{self.script}'"


_ROCM = (
    "--showproductname --showbus --showuniqueid --showmeminfo vram --showtemp --showpower --showmaxpower --showuse "
    "--showtoponuma --showtopotype --showdriverversion --json"
)
_HYGON = (
    "--showuse --showmeminfo vram --showtemp --showpower --showmaxpower --showbus --showuniqueid "
    "--showproductname --json"
)
# Container engines, whose images are facts of the host.
ENGINES = ("podman", "docker")
TOOLS: tuple[Tool, ...] = (
    Tool("nvidia-smi", Vendor.NVIDIA, (Question("-q -x"), Question("-L"), Question("topo -m", rare=True))),
    Tool(
        "npu-smi",
        Vendor.ASCEND,
        (Question("info"), Question("info -m"), Question("info -t topo", rare=True)),
    ),
    Tool(
        "amd-smi",
        Vendor.AMD,
        (
            Question("metric --json", errors=False),
            Question("static --json", errors=False),
            Question("list --json", rare=True, errors=False),
            Question("topology --json", rare=True, errors=False),
        ),
    ),
    Tool("rocm-smi", Vendor.AMD, (Question(_ROCM, errors=False),), instead=("amd-smi", "hy-smi")),
    Tool("cnmon", Vendor.CAMBRICON, (Question(""), Question("info"), Question("topo -m", rare=True))),
    Tool(
        "hy-smi",
        Vendor.HYGON,
        (
            Question(_HYGON, errors=False),
            Question("--healthcheck"),
            Question("--showtoponuma", rare=True),
            Question("--showdriverversion", rare=True),
            Question("--showmemavailable"),
        ),
    ),
    Tool("mthreads-gmi", Vendor.MTHREADS, (Question(""), Question("-q"), Question("topo -m", rare=True))),
    Tool(
        "ixsmi",
        Vendor.ILUVATAR,
        (Question(""), Question("-q"), Question("-L"), Question("topo -m", rare=True)),
    ),
    Tool(
        "mx-smi",
        Vendor.METAX,
        (Question(""), Question("-L"), Question("--count-ecc"), Question("topo -m", rare=True)),
    ),
    Tool(
        "ht-smi",
        Vendor.METAX,
        (Question(""), Question("-L"), Question("--count-ecc"), Question("topo -m", rare=True)),
        instead=("mx-smi",),
    ),
    Tool("tt-smi", Vendor.TENSTORRENT, (Question("-s", errors=False),)),
)


def _grep(arguments: str) -> str:
    """A grep that died, or did not start, ends the script; files that are not there do not."""
    return f"grep -sH {arguments} || [ $? -le 2 ] || exit 3"


def _print(*paths: str, most: int | None = None) -> str:
    bound = "" if most is None else f"-m {most} "
    return _grep(f'{bound}"" {" ".join(paths)}')


_THERE = "command -v $tool >/dev/null 2>&1"
# What is read whole before it is printed is read up to a bound.
_SHORT = "| head -c 200 | head -n 1"
_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"
_PCI = "/sys/bus/pci/devices"
_ASKED_FOR = " ".join([*(tool.name for tool in TOOLS), *ENGINES])
_LIVE_SCRIPT = "; ".join(
    (
        f'echo "#clock $(date +%s.%N {_SHORT})"',
        _print("/etc/machine-id", "/sys/class/dmi/id/product_uuid", "/proc/sys/kernel/random/boot_id"),
        _print("/proc/uptime", "/proc/loadavg", "/proc/meminfo"),
        _grep('"^cpu" /proc/stat'),
        f'for tool in {_ASKED_FOR}; do {_THERE} && echo "{TOOL_MARK}$tool"; done',
        WHOLE,
    )
)
_HOST_SCRIPT = "; ".join(
    (
        f'echo "#arch $(uname -m {_SHORT})"',
        _print(
            "/etc/os-release",
            "/usr/lib/os-release",
            "/proc/sys/kernel/osrelease",
            "/proc/sys/kernel/hostname",
        ),
        # Nobody needs the layers of containers, whose lines are long.
        _grep('-v " overlay " /proc/mounts'),
        _print("/proc/cpuinfo", most=60),
        _print(f"{_CPU}/present", f"{_CPU}/online"),
        _print(
            *(
                f"{_CPU}/cpu[0-9]*/topology/{name}"
                for name in ("core_id", "physical_package_id", "core_cpus_list", "thread_siblings_list")
            )
        ),
        _print(f"{_CPU}/cpu[0-9]*/cpufreq/cpuinfo_max_freq"),
        _print(f"{_NODE}/node[0-9]*/cpulist", f"{_NODE}/node[0-9]*/distance"),
        _grep(f'"MemTotal" {_NODE}/node[0-9]*/meminfo'),
        _print("/proc/driver/nvidia/gpus/*/numa_status"),
        _print(f"{_PCI}/*/numa_node", f"{_PCI}/*/local_cpulist"),
        f'for tool in podman docker containerd; do {_THERE} && echo "#runtime $tool $($tool --version {_SHORT})"; done',
        WHOLE,
    )
)
_LOG_SCRIPT = "; ".join(
    (
        'dmesg >/dev/null 2>&1 || echo "#kernel-log"',
        "dmesg 2>/dev/null | grep -F NVRM | tail -n 400",
        WHOLE,
    )
)

# What npu-smi tells of one board only; the numbers of boards stay on the node. It ends by itself within its time.
_BOARDS_SCRIPT = "; ".join(
    (
        "begun=$(date +%s | head -c 20)",
        'echo "#templates"',
        "npu-smi info -t template-info 2>/dev/null",
        'for npu in $(npu-smi info -m 2>/dev/null | head -n 300 | tr -s " \\t" " " | sed "s/^ //" | '
        'cut -d " " -f 1 | grep -E "^[0-9]{1,4}$" | sort -un); do '
        'echo "#board $npu"; npu-smi info -t ecc -i $npu 2>/dev/null; '
        'for chip in 0 1; do echo "#chip $npu $chip"; '
        "npu-smi info -t info-vnpu -i $npu -c $chip 2>/dev/null || break; done; "
        "[ $(($(date +%s)-begun)) -lt 5 ] || exit 0; done",
        WHOLE,
    )
)

LOOK = Command(LIVE, _LIVE_SCRIPT, limit_s=5, most_bytes=MIB)
OF_THE_HOST = Command(HOST, _HOST_SCRIPT, limit_s=7, most_bytes=MIB, rare=True)


def _of_tool(tool: Tool) -> list[Command]:
    found = []
    for question in tool.questions:
        argv = f"{tool.name} {question.arguments}".strip()
        command = Command(
            argv,
            f"exec {argv} {'2>&1' if question.errors else '2>/dev/null'}",
            limit_s=TOOL_LIMIT_S,
            most_bytes=MIB,
            vendor=tool.vendor,
            tool=tool.name,
            rare=question.rare,
        )
        found.append(command)
    return found


def _images_of(engine: str) -> Command:
    """The images that the user of the look reaches; docker and podman print the same for the same question."""
    wanted = "{{.Repository}}:{{.Tag}} {{.Digest}} {{.Size}}"
    script = f'exec {engine} images --digests --no-trunc --format "{wanted}" 2>&1'
    return Command(f"{engine} images", script, TOOL_LIMIT_S, MIB, tool=engine, rare=True)


OF_TOOLS: tuple[Command, ...] = (
    *(command for tool in TOOLS for command in _of_tool(tool)),
    Command(
        BOARDS,
        _BOARDS_SCRIPT,
        limit_s=TOOL_LIMIT_S,
        most_bytes=MIB,
        vendor=Vendor.ASCEND,
        tool="npu-smi",
        rare=True,
    ),
    *map(_images_of, ENGINES),
    Command(KERNEL_LOG, _LOG_SCRIPT, limit_s=3, most_bytes=MIB, vendor=Vendor.NVIDIA, tool="nvidia-smi"),
)


def tools_in(printed: bytes) -> frozenset[str]:
    """Those of our tools that a node says it has."""
    lines = {line.strip() for line in printed.decode("utf-8", "replace").split("\n")}
    here = {tool.name for tool in TOOLS if f"{TOOL_MARK}{tool.name}" in lines}
    tools = {tool.name for tool in TOOLS if tool.name in here and here.isdisjoint(tool.instead)}
    return frozenset(tools.union(engine for engine in ENGINES if f"{TOOL_MARK}{engine}" in lines))


def questions_for(tools: Collection[str], *, with_host: bool) -> Sequence[Command]:
    """What to ask of a node with these tools."""
    asked = [command for command in OF_TOOLS if command.tool in tools and (with_host or not command.rare)]
    return [OF_THE_HOST, *asked] if with_host else asked
