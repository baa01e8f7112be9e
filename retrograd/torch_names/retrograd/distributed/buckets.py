"""Gradients of several parameters in one array, so that few large reductions replace many small ones.

Behind the gradients the array has one entry per parameter that says whether this rank had a gradient for it; the
sum of those entries tells every rank on how many ranks it had one, without a message of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..engine.ops.creation.functions.creating import from_numpy
from .communicator import Communicator, Pending

Named = tuple[str, Any]
"""A parameter with its name."""


class Bucket:
    """Some parameters of one dtype and the array that their gradients travel in."""

    def __init__(self, members: list[Named]) -> None:
        self.names = [name for name, _ in members]
        self._tensors = [tensor for _, tensor in members]
        sizes = [tensor.numel() for tensor in self._tensors]
        ends = np.cumsum(sizes).tolist()
        self._flags = ends[-1]
        # float16 sums lose too much, and few engines know them.
        dtype = np.promote_types(members[0][1].detach().numpy().dtype, np.float32)
        self._array = np.zeros(ends[-1] + len(members), dtype)
        self._views = [
            self._array[end - size : end].reshape(tuple(tensor.shape))
            for tensor, size, end in zip(self._tensors, sizes, ends, strict=True)
        ]
        self.arrived = [False] * len(members)
        """Which parameters have been put in."""
        self.pending: Pending | None = None
        self.clear()

    @property
    def nbytes(self) -> int:
        """Size of what travels."""
        return int(self._array.nbytes)

    @property
    def full(self) -> bool:
        """Whether every parameter has been put in."""
        return self._missing == 0

    def clear(self) -> None:
        """Forget the last round."""
        self.arrived = [False] * len(self._tensors)
        self._missing = len(self._tensors)
        self.pending = None

    def put(self, place: int, gradient: np.ndarray) -> None:
        """Take the gradient of one parameter."""
        self._views[place][...] = gradient
        self.arrived[place] = True
        self._missing -= 1

    def launch(self, communicator: Communicator) -> None:
        """Begin the reduction; parameters that have no gradient take part with zeros."""
        self._array[self._flags :] = self.arrived
        if self._missing:
            for view, arrived in zip(self._views, self.arrived, strict=True):
                if not arrived:
                    view[...] = 0
        self.pending = communicator.allreduce(self._array)

    def counts(self) -> list[int]:
        """Return for each parameter on how many ranks it had a gradient, after the reduction."""
        counts: list[int] = np.rint(self._array[self._flags :].real).astype(int).tolist()
        return counts

    def spread(self, divisor: int) -> None:
        """Give each parameter that had a gradient anywhere the sum over all ranks divided by ``divisor``."""
        counts = self.counts()
        self._array /= divisor
        for tensor, view, count in zip(self._tensors, self._views, counts, strict=True):
            if count:
                _set_gradient(tensor, view)


def _set_gradient(tensor: Any, values: np.ndarray) -> None:
    """Write into ``.grad``, which is made where this rank had none."""
    if tensor.grad is None:
        tensor.grad = tensor.detach() * 0
    tensor.grad.detach().copy_(from_numpy(values))


def plan(parameters: Iterable[Named], limit: int) -> list[Bucket]:
    """Fill buckets of up to ``limit`` bytes, last parameters first: backward mostly reaches them first."""
    open_: dict[Any, list[Named]] = {}
    sizes: dict[Any, int] = {}
    filled: list[list[Named]] = []
    for name, tensor in reversed(list(parameters)):
        key = tensor.dtype
        size = tensor.numel() * tensor.element_size()
        if open_.get(key) and sizes[key] + size > limit:
            filled.append(open_.pop(key))
        open_.setdefault(key, []).append((name, tensor))
        sizes[key] = (sizes[key] if len(open_[key]) > 1 else 0) + size
    return [Bucket(members) for members in [*filled, *open_.values()]]
