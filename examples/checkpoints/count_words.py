"""A data job that notes its progress after every file; its checkpoint is a copy of that note, made by a command.

Usage: count_words.py FOLDER. Submit it with `examples/checkpoints/count_words.json`.
"""

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

PROGRESS = Path("progress.json")
PAUSE_S = float(os.environ.get("PAUSE_S", "0"))


def load() -> dict:
    """The note of an earlier attempt, else an empty one."""
    folder = os.environ.get("HEADRACE_RESUME_DIR")
    source = Path(folder) / PROGRESS if folder else PROGRESS
    return json.loads(source.read_text()) if source.exists() else {"done": [], "words": {}}


def main() -> None:
    """Count words file by file; a file that was counted is not counted again."""
    progress = load()
    words = Counter(progress["words"])
    for path in sorted(Path(sys.argv[1]).glob("*.txt")):
        if path.name in progress["done"]:
            continue
        words.update(path.read_text().split())
        progress = {"done": [*progress["done"], path.name], "words": dict(words)}
        new = PROGRESS.with_suffix(".new")
        new.write_text(json.dumps(progress))
        os.replace(new, PROGRESS)
        print(path.name, flush=True)
        time.sleep(PAUSE_S)
    print(json.dumps(dict(sorted(words.items()))))


if __name__ == "__main__":
    main()
