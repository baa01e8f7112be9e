"""What watching a training costs: the same loop alone and watched, by turns, as ratios of CPU time a step.

``python benchmarks/watching.py [--engine torch|retrograd] [--rounds N]`` trains a transformer of 6 layers, width 128.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import retrograd as rg

STEPS = 6
"""Steps of one turn."""
WAYS: dict[str, dict[str, Any] | None] = {
    "alone": None,
    "watched": {},
    "every 10th step": {"every": 10},
    "replay armed": {"replay": True},
}


def training(engine: Any) -> tuple[Any, Any, Callable[[int], None]]:
    """Return a model, its optimizer, and what trains it for some steps."""
    engine.manual_seed(0)
    layer = engine.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True, dropout=0.1)
    net = engine.nn.Sequential(
        engine.nn.Linear(32, 128), engine.nn.TransformerEncoder(layer, 6), engine.nn.Linear(128, 32)
    )
    optimizer = engine.optim.AdamW(net.parameters(), lr=1e-4)

    def train(steps: int) -> None:
        for _ in range(steps):
            x = engine.randn(16, 32, 32)
            optimizer.zero_grad()
            loss = (net(x) - x).pow(2).mean()
            loss.backward()
            optimizer.step()

    return net, optimizer, train


def main() -> None:
    """Take turns and print medians of the ratios to the loop alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=["torch", "retrograd"], default="torch")
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    engine = __import__(asked.engine)
    net, optimizer, train = training(engine)
    train(3)
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(asked.rounds):
        for way, settings in WAYS.items():
            times[way].append(one_turn(net, optimizer, train, settings))
    alone = times["alone"]
    print(f"{asked.engine}, alone: {statistics.median(alone) / STEPS * 1e3:.1f} ms a step")
    for way, found in times.items():
        ratios = [one / other for one, other in zip(found, alone, strict=True)]
        print(f"{way:<16} {statistics.median(ratios):.3f} of a step  ({min(ratios):.3f} to {max(ratios):.3f})")


def one_turn(net: Any, optimizer: Any, train: Callable[[int], None], settings: dict[str, Any] | None) -> float:
    """Return the CPU time of some steps; the first one after watching began is not counted."""
    if settings is None:
        train(1)
        return measured(train)
    with rg.watch(net, optimizer, triggers=None, **settings):
        train(1)
        return measured(train)


def measured(train: Callable[[int], None]) -> float:
    """Return the CPU time of the steps of a turn."""
    began = time.process_time()
    train(STEPS)
    return time.process_time() - began


if __name__ == "__main__":
    main()
