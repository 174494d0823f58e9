"""The loop of train_numpy.py in PyTorch: model, optimiser and step are one checkpoint.

Submit it like train_numpy.py, with devices as needed.
"""

import os
import signal
from pathlib import Path

import torch  # type: ignore[import-not-found,unused-ignore]

STEPS = int(os.environ.get("STEPS", "2000"))
asked = False


def ask(*_: object) -> None:
    """Only note it."""
    global asked
    asked = True


def save(step: int, model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> None:
    """Everything first, then the file that says so."""
    folder = Path(os.environ["HEADRACE_CHECKPOINT_DIR"])
    state = {"step": step, "model": model.state_dict(), "optimiser": optimiser.state_dict()}
    torch.save(state, folder / "next.pt")
    os.replace(folder / "next.pt", folder / "state.pt")
    (folder / "complete.new").write_text(f"step {step}\n")
    os.replace(folder / "complete.new", os.environ["HEADRACE_CHECKPOINT_DONE"])


def main() -> None:
    """Fit a line; on an accelerator where there is one."""
    global asked
    signal.signal(signal.SIGUSR1, ask)
    torch.manual_seed(7)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = torch.randn(64, 4, device=device)
    outputs = inputs @ torch.tensor([[1.0], [-2.0], [3.0], [0.5]], device=device)
    model = torch.nn.Linear(4, 1).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    step, resume = 0, Path(os.environ.get("HEADRACE_RESUME_DIR", "/nowhere")) / "state.pt"
    if resume.exists():
        state = torch.load(resume, map_location=device)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        step = state["step"]
        print(f"goes on at step {step}", flush=True)
    print("ready", flush=True)
    while step < STEPS:
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), outputs)
        loss.backward()
        optimiser.step()
        step += 1
        if asked:
            asked = False
            save(step, model, optimiser)
    print(f"loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
