"""What recording costs on PyTorch: a training step of a transformer of 12 small layers, by turns at every level.

``python benchmarks/recording_cost_torch.py`` prints the CPU time of ``backward()`` and of a whole step at each level
of recording over those of a plain step (bars: 2.0 and 1.6 for ``backward``, 2.5 for a whole step at ``full``).
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable

import torch

import retrograd as rg

LEVELS = ("plain", "graph", "backward", "full")
TURNS, STEPS = 8, 3


def training_step() -> Callable[[], tuple[float, float]]:
    """The step, on data made once; it returns the CPU seconds of ``backward()`` and of all of it."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer
    layers = [layer(64, 4, 128, batch_first=True, norm_first=True) for _ in range(12)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(4, 16, 64)

    def step() -> tuple[float, float]:
        begin = time.process_time()
        optimizer.zero_grad()
        loss = model(x).square().mean()
        middle = time.process_time()
        loss.backward()
        after = time.process_time()
        optimizer.step()
        return after - middle, time.process_time() - begin

    return step


def by_level() -> dict[str, list[tuple[float, float]]]:
    """What every step took at each level, in turns."""
    step = training_step()
    times: dict[str, list[tuple[float, float]]] = {level: [] for level in LEVELS}
    for _ in range(TURNS):
        for level in LEVELS:
            with contextlib.nullcontext() if level == "plain" else rg.debug(level=level):
                step()
                times[level] += [step() for _ in range(STEPS)]
    return times


def main() -> None:
    """Print the table."""
    times = by_level()
    medians = {level: [statistics.median(part) for part in zip(*found, strict=True)] for level, found in times.items()}
    for level, found in medians.items():
        ratios = [mine / plain for mine, plain in zip(found, medians["plain"], strict=True)]
        print(
            f"{level:10s} backward {found[0] * 1e3:7.2f} ms  {ratios[0]:5.2f}"
            f"   step {found[1] * 1e3:7.2f} ms  {ratios[1]:5.2f}"
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
