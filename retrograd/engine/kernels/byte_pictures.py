"""Resizes byte images with PyTorch's 16-bit integer weights, whose rounding is visible in the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from .separable import NO_ELEMENT


def nearest_bytes(mixed: Any) -> Any:
    """Mixed pixels as the nearest bytes."""
    return np.clip(np.floor(mixed + np.float32(0.5)), 0, 255).astype(np.uint8)


def blend_bytes(self: Any, maps: list[Any]) -> Any:
    """Along rows, then along columns, each pass in integers and its result in bytes; ``maps`` as for ``blend``."""
    for axis, at, weights in reversed(maps):
        if weights is not None:
            shares, bits = _whole_weights(_once_each(at, weights))
            taken = np.moveaxis(self, axis, -1)[..., np.where(at == NO_ELEMENT, 0, at)]
            sums = (taken.astype(np.int64) * shares).sum(-2) + (1 << (bits - 1))
            self = np.moveaxis(np.clip(sums >> bits, 0, 255).astype(np.uint8), -1, axis)
    return self.copy()


def _once_each(at: Any, weights: Any) -> Any:
    """Weights that an element at the edge has several of, added up."""
    weights = weights.copy()
    for i in range(len(at) - 1):
        again = at[i] == at[i + 1]
        weights[i + 1] += np.where(again, weights[i], 0.0)
        weights[i] = np.where(again, 0.0, weights[i])
    return weights


def _whole_weights(weights: Any) -> tuple[Any, int]:
    """Weights as integers of 16 bits, and by how many bits they are shifted."""
    bits, most = 0, float(np.max(weights, initial=0.0))
    while bits < 22 and int(0.5 + most * (1 << (bits + 1))) < 1 << 15:
        bits += 1
    shifted = weights * (1 << bits)
    return (shifted + np.where(weights < 0, -0.5, 0.5)).astype(np.int64), bits
