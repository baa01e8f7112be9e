"""Calls a custom Function of our engine again on copies of its inputs, without effect on the program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .....engine.aliasing.views import requires_grad
from .....engine.core.base import TensorBase, wrap
from .....engine.execution.backward import grad
from .....engine.random import default_generator
from ...kept_calls import Array, Seen


def read_tensor(value: Any) -> Seen | None:
    """Return the ``Seen`` of a tensor among a Function's arguments, None for other objects."""
    if not isinstance(value, TensorBase):
        return None

    def copy(piece: tuple[slice, ...]) -> Array:
        taken = np.array(value._array[piece])
        return taken.astype(np.float32) if taken.dtype == np.float16 else taken

    return Seen(tuple(value._sig.shape), value._sig.dtype.name, requires_grad(value), copy)


class EngineReplay:
    """Our engine as the comparison with finite differences calls it."""

    tensor_type: type = TensorBase

    def tensor(self, array: Array, *, requires_grad: bool = False) -> Any:
        """Return a new tensor with a copy of these values."""
        return wrap(np.array(array)).requires_grad_(requires_grad)

    def array(self, tensor: Any) -> Array:
        """Return a copy of a tensor's values."""
        found: Array = tensor._array.copy()
        return found

    def differentiable(self, tensor: Any) -> bool:
        """Whether a gradient can start here."""
        return requires_grad(tensor) and bool(tensor._sig.differentiable)

    def gradients(self, root: Any, inputs: Sequence[Any], *, create_graph: bool = False) -> tuple[Any, ...]:
        """Return the gradients of a scalar with respect to the inputs, None for those that were not used."""
        found: tuple[Any, ...] = grad(root, tuple(inputs), create_graph=create_graph, allow_unused=True)
        return found

    def draw(self) -> None:
        """Draw some random numbers."""
        default_generator.words(7)

    @contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Restore the generator after the block; it is not created if it did not exist."""
        with default_generator.resumed():
            yield
