"""Seeded data of the workloads, the same for every contender; ``SIZES`` are the numbers that shape them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

RATE = 0.01
W1_OPERATIONS = 1000
W6_STEPS, W6_BATCH, W6_INPUT, W6_HIDDEN = 200, 16, 32, 64
W5_HEADS = 4
W7_OPERATIONS = 100_000
W8_CONSUMERS = 10_000
W10_ROUNDS = 30
NAMES = {
    "W1": "1,000 small operations",
    "W2": "MLP 784-256-256-10, batch 64, step",
    "W3": "MLP 784-1024-1024-10, batch 1024, step",
    "W4": "convolution net on 32 images of 28x28",
    "W5": "transformer block, 8x64x128",
    "W6": "LSTM, 200 steps, cell by cell",
    "W7": "chain of 100,000 operations",
    "W8": "10,000 consumers of one tensor",
    "W9": "Hessian-vector product of an MLP",
    "W10": "chain of 90 operations on 4 MiB",
}


def _layers(rng: Any, sizes: tuple[int, ...]) -> list[Any]:
    found = []
    for a, b in itertools.pairwise(sizes):
        found += [rng.standard_normal((a, b)) * np.sqrt(2 / a), rng.standard_normal(b) * 0.01]
    return found


def data(name: str, precision: str = "f4") -> dict[str, Any]:
    """Arrays of a workload by name: floating ones in the given precision, lists of arrays for parameters."""
    made = _made(name, np.random.default_rng(7))

    def cast(value: Any) -> Any:
        if isinstance(value, list):
            return [cast(v) for v in value]
        return value.astype(precision) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value

    return {key: cast(value) for key, value in made.items()}


def _made(name: str, rng: Any) -> dict[str, Any]:
    normal = rng.standard_normal
    if name == "W1":
        return {"x": normal(4), "w": 1 + normal(4) / 10, "b": normal(4) / 10}
    if name in ("W2", "W3", "W9"):
        batch, hidden = (1024, 1024) if name == "W3" else (64, 256)
        sizes = (784, hidden, hidden, 10)
        return {"x": normal((batch, 784)), "labels": rng.integers(0, 10, batch), "p": _layers(rng, sizes),
                "v": [normal(a.shape) for a in _layers(rng, sizes)]}  # fmt: skip
    if name == "W4":
        return {"x": normal((32, 1, 28, 28)), "labels": rng.integers(0, 10, 32),
                "p": [normal((16, 1, 3, 3)) / 3, normal(16) / 10, normal((32, 16, 3, 3)) / 12, normal(32) / 10,
                      normal((1568, 10)) / 40, normal(10) / 10]}  # fmt: skip
    if name == "W5":
        d, wide, s = 128, 512, 128**-0.5
        return {"x": normal((8, 64, d)), "r": normal((8, 64, d)) / 512,
                "p": [1 + normal(d) / 10, normal(d) / 10, normal((d, 3 * d)) * s, normal(3 * d) / 10,
                      normal((d, d)) * s, normal(d) / 10, 1 + normal(d) / 10, normal(d) / 10,
                      normal((d, wide)) * s, normal(wide) / 10, normal((wide, d)) * wide**-0.5,
                      normal(d) / 10]}  # fmt: skip
    if name == "W6":
        h = W6_HIDDEN
        return {"x": normal((W6_STEPS, W6_BATCH, W6_INPUT)), "r": normal((W6_BATCH, h)),
                "p": [normal((W6_INPUT, 4 * h)) / 5, normal((h, 4 * h)) * 0.15, normal(4 * h) / 10]}  # fmt: skip
    return {"W7": {"x": normal(4)}, "W8": {"x": normal(256)}, "W10": {"x": normal((1024, 1024))}}[name]
