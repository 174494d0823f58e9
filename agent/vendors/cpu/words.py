"""What lscpu calls its fields in the languages it speaks. Source: the tool's own outputs under these locales; what a
release leaves untranslated stands in English among the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_TRANSLATIONS = {
    "cpu(s)": ("cpu", "processeur(s)", "cpu's"),
    "on-line cpu(s) list": (
        "在线 cpu 列表",
        "線上 cpu(s) 列表",
        "liste der online-cpu(s)",
        "liste de processeur(s) en ligne",
        "lista de la(s) cpu(s) en línea",
        "lista de cpu(s) on-line",
        "lista delle cpu online",
        "オンラインになっている cpu のリスト",
        "список онлайн-cpu",
    ),
    "off-line cpu(s) list": (
        "离线 cpu 列表",
        "liste der offline-cpu(s)",
        "liste de processeur(s) hors ligne",
        "lista de la(s) cpu(s) fuera de línea",
        "オフラインになっている cpu のリスト",
    ),
    "thread(s) per core": (
        "每个核的线程数",
        "每核心執行緒數",
        "thread(s) pro kern",
        "thread(s) par cœur",
        "thread(s) par coeur",
        "hilo(s) de procesamiento por núcleo",
        "thread(s) por núcleo",
        "thread(s) per núcleo",
        "コアあたりのスレッド数",
        "потоков на ядро",
    ),
    "core(s) per socket": (
        "每个座的核数",
        "每通訊端核心數",
        "kern(e) pro socket",
        "kern(e) pro sockel",
        "cœur(s) par socket",
        "coeur(s) par support cpu",
        "núcleo(s) por «socket»",
        "núcleo(s) por soquete",
        "ソケットあたりのコア数",
        "ядер на сокет",
    ),
    "socket(s)": (
        "cpu socket(s)",
        "座",
        "通訊端",
        "sockel",
        "«socket(s)»",
        "soquete(s)",
        "ソケット数",
        "сокетов",
    ),
    "model name": (
        "型号名称",
        "型號名稱",
        "modellname",
        "nom de modèle",
        "nombre del modelo",
        "nome do modelo",
        "nome del modello",
        "モデル名",
        "имя модели",
    ),
    "cpu max mhz": (
        "cpu 最大 mhz",
        "maximale taktfrequenz der cpu",
        "vitesse maximale du processeur en mhz",
        "cpu mhz máx.",
        "cpu макс. мгц",
    ),
    "numa node(s)": (
        "numa 节点",
        "numa-knoten",
        "nœud(s) numa",
        "modo(s) numa",
        "numaノード",
        "numa ノード数",
    ),
}
_ENGLISH: Mapping[str, str] = {word: english for english, words in _TRANSLATIONS.items() for word in words}
FIELDS = frozenset(_TRANSLATIONS)
# `NUMA node0 CPU(s)`, `NUMA 节点0 CPU`, `NUMA-Knoten0 CPU(s)`, `Nœud NUMA 0 de processeur(s)`, `NUMAノード 0 CPU`
_NODE = re.compile(r"^(?=.*numa)\D*(\d{1,4})\D*$")


def english(field: str) -> str:
    """The field's English name, in lower case; an unknown one stays as it is."""
    clean = " ".join(field.lower().split())
    return _ENGLISH.get(clean, clean)


def node_of(field: str) -> int | None:
    """The number of the NUMA node whose CPUs a field lists."""
    match = _NODE.match(field)
    return int(match.group(1)) if match else None
