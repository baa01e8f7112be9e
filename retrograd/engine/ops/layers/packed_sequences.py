"""Sequences of several lengths as one: all first steps, then all second steps, without padding between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.registry import F
from ...table.rows import linear


def _pack(self: Any, steps: Any, entries: Any) -> Any:
    return self[steps, entries]


def _unpack(self: Any, steps: Any, entries: Any, shape: tuple[int, ...], value: float) -> Any:
    out = np.full((*shape, *self.shape[1:]), value, self.dtype)
    out[steps, entries] = self
    return out


linear(
    "_pack_padded", _pack, node="PackPaddedSequenceBackward0", arrays="steps entries",
    for_hooks={"batch_sizes": lambda steps: np.bincount(steps)},
    real_only="_pack_padded_sequence",
    self=lambda g, self_sizes, steps, entries: F._pad_packed(g, steps, entries, tuple(self_sizes[:2]), 0.0),
)  # fmt: skip
linear(
    "_pad_packed", _unpack, node="CopySlices", arrays="steps entries",
    self=lambda g, steps, entries: F._pack_padded(g, steps, entries),
    jvp=lambda primal, tangents, results: F._pad_packed(tangents[0], *primal[1:4], 0.0),
)  # fmt: skip
