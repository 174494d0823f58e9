"""Layouts of nvidia-smi beside its report: tables of slices, of virtual machines, of boards without a bus; and its
CSV as other programs save it.
"""

from typing import Any

import pytest

from agent.vendors import PARSERS
from agent.vendors.base import document

UUID = "GPU-5d0a4c11-93e2-4f6b-8a77-0c1d2e3f4a5{}"
INSTANCES = """\
+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   0  MIG 1g.18gb         19        11         6:1     |
+-------------------------------------------------------+
|   0  MIG 4g.71gb          5        2          0:4     |
+-------------------------------------------------------+
|   3  MIG 1g.18gb+me      20        7          0:1     |
+-------------------------------------------------------+
"""
COMPUTE = """\
+--------------------------------------------------------------------+
| Compute instances:                                                 |
| GPU     GPU       Name             Profile   Instance   Placement  |
|       Instance                       ID        ID       Start:Size |
|         ID                                                         |
|====================================================================|
|   0      2       MIG 2c.4g.71gb       1         0          0:2     |
+--------------------------------------------------------------------+
|   0      2       MIG 2c.4g.71gb       1         1          2:2     |
+--------------------------------------------------------------------+
"""
PROFILES = """\
+-------------------------------------------------------------------------------+
| GPU instance profiles:                                                        |
| GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC  |
|                                Free/Total   GiB              CE    JPEG  OFA  |
|===============================================================================|
|   5  MIG 2g.35gb         14     1/3        32.50      No     32     2     0   |
|                                                               2     2     0   |
+-------------------------------------------------------------------------------+
"""
TABLE = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 575.57.08              Driver Version: 575.57.08      CUDA Version: 12.9     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H200                    On  |   00000000:5D:00.0 Off |                   On |
| N/A   31C    P0             78W /  700W |     702MiB / 143771MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+
"""
VIRTUAL = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 525.105.14             Driver Version: 525.105.14                |
|---------------------------------+------------------------------+------------+
| GPU  Name                       | Bus-Id                       | GPU-Util   |
|      vGPU ID     Name           | VM ID     VM Name            | vGPU-Util  |
|=================================+==============================+============|
|   0  NVIDIA A16                 | 00000000:41:00.0             |  44%       |
|      3251634320  NVIDIA A16-8Q  | 7e1a...   build agent        |   3%       |
+---------------------------------+------------------------------+------------+
|   1  NVIDIA A16                 | 00000000:42:00.0             |  ERR!      |
+---------------------------------+------------------------------+------------+
"""
BOARD = """\
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 540.3.0                Driver Version: N/A          CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
|   0  Orin (nvgpu)                  N/A  | N/A              N/A |                  N/A |
| N/A   N/A  N/A               N/A /  N/A | Not Supported        |     N/A          N/A |
|                                         |                      |                  N/A |
+-----------------------------------------+----------------------+----------------------+
"""
ROWS = (
    ("index", "name", "uuid", "memory.total [MiB]", "memory.used [MiB]", "power.draw [W]", "temperature.gpu"),
    ("0", "NVIDIA L4", UUID.format(0), "23034 MiB", "910 MiB", "31.40 W", "47"),
    ("1", "NVIDIA L4", UUID.format(1), "23034 MiB", "0 MiB", "[Unknown Error]", "[GPU requires reset]"),
)


def devices(text: str) -> list[dict[str, Any]]:
    found = document(PARSERS["nvidia"](text))["devices"]
    assert isinstance(found, list)
    return found


def slices(device: dict[str, Any]) -> list[tuple[Any, ...]]:
    keys = ("name", "instance", "compute_instance", "memory_group", "memory_total_mib")
    return [tuple(part[key] for key in keys) for part in device["partitions"]]


def test_instances_are_the_slices_of_their_devices() -> None:
    first, second = devices(INSTANCES)
    assert (first["index"], second["index"]) == (0, 3)
    assert slices(first) == [("1g.18gb", 11, None, 11, None), ("4g.71gb", 2, None, 2, None)]
    assert slices(second) == [("1g.18gb+me", 7, None, 7, None)]
    assert {first["health"], second["health"]} == {"unknown"}


def test_compute_instances_stand_in_the_place_of_what_they_divide() -> None:
    device = devices(INSTANCES + COMPUTE)[0]
    assert slices(device) == [
        ("1g.18gb", 11, None, 11, None),
        ("2c.4g.71gb", 2, 0, 2, None),
        ("2c.4g.71gb", 2, 1, 2, None),
    ]


def test_rows_of_instances_are_no_processes_of_the_table_above() -> None:
    (device,) = devices(TABLE + COMPUTE)
    assert (device["processes"], device["memory_used_mib"], device["health"]) == ([], 702, "healthy")
    assert len(device["partitions"]) == 2


def test_slices_of_two_outputs_meet_by_their_instance() -> None:
    below = """
+-----------------------------------------------------------------------------------------+
| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
|  0    2   0   0  |             690MiB / 71168MiB    | 64      0 |  4   0    4    0    4 |
+------------------+----------------------------------+-----------+-----------------------+
|  0   11   0   1  |              12MiB / 16384MiB    | 16      0 |  1   0    1    0    1 |
+------------------+----------------------------------+-----------+-----------------------+
"""
    device = devices(TABLE + below + INSTANCES)[0]
    assert slices(device) == [("4g.71gb", 2, 0, 2, 71168), ("1g.18gb", 11, 0, 11, 16384)]


def test_possible_profiles_are_no_slices() -> None:
    (device,) = devices(PROFILES)
    assert (device["index"], device["partitions"], device["health"]) == (5, [], "unknown")


@pytest.mark.parametrize(
    "line", ["No MIG-supported devices found.", "No GPU instances found: Insufficient Permissions"]
)
def test_a_sentence_in_place_of_slices_is_told(line: str) -> None:
    found = document(PARSERS["nvidia"](line))
    assert (found["devices"], found["warnings"]) == ([], [f"nvidia: {line}"])


def test_the_load_of_a_host_is_not_that_of_its_virtual_machines() -> None:
    first, second = devices(VIRTUAL)
    assert (first["utilization_pct"], first["pci_bus_id"], first["health"]) == (44, "0000:41:00.0", "unknown")
    assert second["health"] == "unhealthy"


def test_a_board_without_a_bus_is_there() -> None:
    (device,) = devices(BOARD)
    assert (device["model"], device["pci_bus_id"], device["health"]) == ("Orin (nvgpu)", None, "unknown")


def test_links_that_cannot_be_told_since_the_device_is_lost() -> None:
    text = "\n".join(
        [
            f"GPU 0: NVIDIA H800 (UUID: {UUID.format(0)})",
            "\t Link 0: 26.562 GB/s",
            f"GPU 1: NVIDIA H800 (UUID: {UUID.format(1)})",
            "Unable to retrieve NVLink information: GPU is lost",
        ]
    )
    assert [device["health"] for device in devices(text)] == ["unknown", "unhealthy"]


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("sign", [", ", ",", ";", "\t", " | ", "|"])
def test_saved_rows(sign: str, quote: str) -> None:
    text = "\n".join(sign.join(f"{quote}{cell}{quote}" for cell in row) for row in ROWS) + "\n"
    first, second = devices(text)
    figures = ("uuid", "memory_total_mib", "memory_used_mib", "power_w", "temperature_c", "health")
    assert [first[key] for key in figures] == [UUID.format(0), 23034, 910, 31.4, 47, "healthy"]
    assert [second[key] for key in figures] == [UUID.format(1), 23034, None, None, None, "unhealthy"]


def test_a_table_of_a_document_and_decimal_commas() -> None:
    rows = [(*row[:5], row[5].replace(".", ","), *row[6:]) for row in ROWS[1:]]
    lines = ["| " + " | ".join(row) + " |" for row in (ROWS[0], ("---",) * 7, *rows)]
    first, second = devices("\n".join(lines))
    assert (first["power_w"], first["memory_used_mib"], first["health"]) == (31.4, 910, "healthy")
    assert second["health"] == "unhealthy"


def test_quoted_rows_without_a_header() -> None:
    (device,) = devices(f'"0","NVIDIA L4","{UUID.format(0)}","31.40 W"\n')
    assert (device["index"], device["uuid"], device["power_w"]) == (0, UUID.format(0), 31.4)
