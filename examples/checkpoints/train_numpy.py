"""A training loop in plain NumPy that makes checkpoints when asked by SIGUSR1 and goes on from them.

Submit it with `examples/checkpoints/train_numpy.json`. Needs NumPy on the node or in the image.
"""

import os
import signal
import time
from pathlib import Path

import numpy as np

STEPS = int(os.environ.get("STEPS", "2000"))
PAUSE_S = float(os.environ.get("PAUSE_S", "0.01"))
asked = False


def ask(*_: object) -> None:
    """Only note it: a checkpoint is made between two steps, where the state is whole."""
    global asked
    asked = True


def save(step: int, weights: np.ndarray) -> None:
    """Write everything, and only then the file that says so, in one move."""
    folder = Path(os.environ["HEADRACE_CHECKPOINT_DIR"])
    np.savez(folder / "next.npz", step=step, weights=weights)
    os.replace(folder / "next.npz", folder / "state.npz")
    (folder / "complete.new").write_text(f"step {step}\n")
    os.replace(folder / "complete.new", os.environ["HEADRACE_CHECKPOINT_DONE"])
    print(f"checkpoint at step {step}", flush=True)


def load() -> tuple[int, np.ndarray]:
    """Where an earlier attempt stopped, else the beginning."""
    folder = os.environ.get("HEADRACE_RESUME_DIR")
    if folder is None or not (Path(folder) / "state.npz").exists():
        return 0, np.zeros(4)
    with np.load(Path(folder) / "state.npz") as state:
        print(f"goes on at step {int(state['step'])}", flush=True)
        return int(state["step"]), state["weights"]


def main() -> None:
    """Fit a line of four weights by gradient descent; the same weights come out however often it is interrupted."""
    global asked
    signal.signal(signal.SIGUSR1, ask)
    data = np.random.default_rng(7)
    inputs = data.normal(size=(64, 4))
    outputs = inputs @ np.array([1.0, -2.0, 3.0, 0.5])
    step, weights = load()
    print("ready", flush=True)
    while step < STEPS:
        error = inputs @ weights - outputs
        weights = weights - 0.01 * inputs.T @ error / len(error)
        step += 1
        if asked:
            asked = False
            save(step, weights)
        time.sleep(PAUSE_S)
    print("weights", " ".join(f"{weight:.12f}" for weight in weights))


if __name__ == "__main__":
    main()
