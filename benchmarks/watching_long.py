"""A tiny loop of very many steps, watched: memory of the process over the steps, and the size of the file.

``python benchmarks/watching_long.py [--engine torch|retrograd] [--steps 1000000]``
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import retrograd as rg

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> float:
    """Return MB of memory that the process holds."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * _PAGE / 1e6


def written(file: str) -> float:
    """Return MB of the file, as it was written last."""
    return os.path.getsize(file) / 1e6 if os.path.exists(file) else 0.0


def main() -> None:
    """Train one number for many steps, and print memory at ten places of the run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=["torch", "retrograd"], default="retrograd")
    parser.add_argument("--steps", type=int, default=1_000_000)
    asked = parser.parse_args()
    engine = __import__(asked.engine)
    w = engine.nn.Parameter(engine.ones(2))
    optimizer = engine.optim.SGD([w], lr=1e-3)
    with tempfile.TemporaryDirectory() as folder:
        file, began = f"{folder}/run.json", time.process_time()
        with rg.watch(optimizer=optimizer, file=file, flush=5.0) as run:
            for step in range(1, asked.steps + 1):
                optimizer.zero_grad()
                w.square().sum().backward()
                optimizer.step()
                if step % max(asked.steps // 10, 1) == 0:
                    print(f"step {step:9,}: {resident():6.1f} MB held, {written(file):5.2f} MB written")
        used = (time.process_time() - began) / asked.steps * 1e6
        size = written(file)
        print(
            f"{asked.engine}, {asked.steps:,} steps: file {size:.2f} MB, {len(run.curves):,} stretches, {used:.0f} µs"
        )


if __name__ == "__main__":
    main()
