"""Data and parameters for whole programs: the same numbers for every engine."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def data(torch: Any, seed: int, *shape: int, dtype: str = "float64") -> Any:
    """Normal numbers that depend on the seed alone."""
    values = np.random.default_rng(seed).standard_normal(shape)
    return torch.tensor(values.tolist(), dtype=getattr(torch, dtype))


def weight(torch: Any, seed: int, *shape: int, scale: float = 0.5, dtype: str = "float64") -> Any:
    """A leaf that requires grad."""
    return (data(torch, seed, *shape, dtype=dtype) * scale).requires_grad_()


def layers(torch: Any, *sizes: int, seed: int = 1) -> list[Any]:
    """Weights and biases of a multi-layer perceptron, in turn."""
    made = []
    for i, (a, b) in enumerate(itertools.pairwise(sizes)):
        made += [weight(torch, seed + 10 * i, a, b), weight(torch, seed + 10 * i + 1, b, scale=0.1)]
    return made


def perceptron(torch: Any, x: Any, parameters: list[Any]) -> Any:
    """The output of the multi-layer perceptron, with tanh between layers."""
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i] + parameters[i + 1]
        if i + 2 < len(parameters):
            x = torch.tanh(x)
    return x
