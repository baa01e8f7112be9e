"""What other ways of watching gradients cost on the loop of ``watching.py``: alone and with each by turns, CPU time.

``python benchmarks/watching_beside.py [--rounds N]`` on PyTorch; W&B and TensorBoard are taken where they are
installed (``pip install 'retrograd[exports]'``), W&B offline: nothing is sent.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from watching import STEPS, measured, training

import retrograd as rg

Way = Callable[[Any, Any], AbstractContextManager[Callable[[], None]]]
"""Given model and optimizer, a block that gives what is called after each backward pass."""


def nothing() -> None:
    """Do nothing after a step."""


@contextmanager
def alone(_net: Any, _optimizer: Any) -> Iterator[Callable[[], None]]:
    """Nothing beside the loop."""
    yield nothing


@contextmanager
def watched(net: Any, optimizer: Any) -> Iterator[Callable[[], None]]:
    """retrograd, all figures of every step."""
    with rg.watch(net, optimizer):
        yield nothing


@contextmanager
def norms_by_hand(net: Any, _optimizer: Any) -> Iterator[Callable[[], None]]:
    """The norm of every gradient, read one by one, as many loops do."""
    yield lambda: [one.grad.norm().item() for one in net.parameters()] and None


@contextmanager
def anomaly(_net: Any, _optimizer: Any) -> Iterator[Callable[[], None]]:
    """``torch.autograd.detect_anomaly``."""
    with torch.autograd.set_detect_anomaly(True):
        yield nothing


@contextmanager
def tensorboard(net: Any, _optimizer: Any) -> Iterator[Callable[[], None]]:
    """A histogram of every gradient in every step."""
    from torch.utils.tensorboard import SummaryWriter

    step = 0

    def write() -> None:
        nonlocal step
        step += 1
        for name, one in net.named_parameters():
            writer.add_histogram(name, one.grad, step)

    with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
        yield write


@contextmanager
def wandb_watch(net: Any, _optimizer: Any) -> Iterator[Callable[[], None]]:
    """``wandb.watch`` of gradients and parameters in every step, offline."""
    import wandb

    with tempfile.TemporaryDirectory() as folder:
        settings = wandb.Settings(silent=True, console="off", disable_git=True, x_disable_stats=True)
        run = wandb.init(project="cost", dir=folder, mode="offline", settings=settings)
        run.watch(net, log="all", log_freq=1)
        yield lambda: run.log({"step": 1})
        run.unwatch(net)
        run.finish()


WAYS: dict[str, tuple[Way, str]] = {
    "alone": (alone, "torch"),
    "retrograd, every step": (watched, "torch"),
    "norms of gradients by hand": (norms_by_hand, "torch"),
    "detect_anomaly": (anomaly, "torch"),
    "TensorBoard histograms": (tensorboard, "tensorboard"),
    "W&B watch, offline": (wandb_watch, "wandb"),
}


def main() -> None:
    """Take turns and print medians of the ratios to the loop alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    ways = {name: way for name, (way, library) in WAYS.items() if importlib.util.find_spec(library)}
    times: dict[str, list[float]] = {name: [] for name in ways}
    net, optimizer, train = training(torch)
    train(3)
    for _ in range(asked.rounds):
        for name, way in ways.items():
            with way(net, optimizer) as after:
                optimizer.register_step_pre_hook(lambda *_, after=after: after())
                train(1)
                times[name].append(measured(train))
                optimizer._optimizer_step_pre_hooks.clear()
    print(f"alone: {statistics.median(times['alone']) / STEPS * 1e3:.1f} ms of CPU a step")
    for name, found in times.items():
        ratios = [one / other for one, other in zip(found, times["alone"], strict=True)]
        print(f"{name:<27} {statistics.median(ratios):6.3f} of a step  ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
