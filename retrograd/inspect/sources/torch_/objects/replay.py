"""Calls a custom Function of PyTorch again on copies of its inputs, without effect on the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...kept_calls import Array, Seen
from ..library import LIBRARY
from ..values.values import Readable


class TensorReader:
    """Reads the tensors among a Function's arguments, so that they can be copied."""

    def __init__(self) -> None:
        torch: Any = LIBRARY.torch
        self._torch = torch
        self._tensor = torch.Tensor
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self._narrow = (torch.bfloat16, torch.float16)
        self._readable = Readable()

    def opens(self) -> bool:
        """Return whether autograd records calls now, and values can be read unnoticed."""
        return bool(self._torch.is_grad_enabled()) and (self._readable.now() or self._readable.transformed())

    def __call__(self, value: Any) -> Seen | None:
        """Return the ``Seen`` of a tensor, None for other objects; raises ``TypeError`` for unusual tensors."""
        if not isinstance(value, self._tensor):
            return None
        if type(value) not in self._plain or value.layout is not self._torch.strided or not value.is_cpu:
            raise TypeError("not a plain tensor")
        copy = self._copy_of(value) if self._readable.now() else self._copy_inside(value)
        return Seen(tuple(value.shape), str(value.dtype), value.requires_grad, copy)

    def _copy_of(self, value: Any) -> Callable[[tuple[slice, ...]], Array]:
        """Return a function that copies a part of a tensor."""

        def copy(piece: tuple[slice, ...]) -> Array:
            taken = value.detach()[piece].clone()  # numpy() of the program's own memory would forbid to resize it
            taken = taken.float() if taken.dtype in self._narrow else taken
            array: Array = taken.resolve_conj().resolve_neg().numpy()
            return array

        return copy

    def _copy_inside(self, value: Any) -> Callable[[tuple[slice, ...]], Array]:
        """Return the same for a tensor that a transform wraps, which must have the same shape."""
        try:
            array = self._readable.within(value)
        except RuntimeError as error:  # memory that there is none of, as of what is only traced
            raise TypeError("cannot be read") from error
        if array is None or array.shape != tuple(value.shape):
            raise TypeError("a batch of tensors")
        return lambda piece: array[piece].copy()


class TorchReplay:
    """PyTorch as the comparison with finite differences calls it."""

    def __init__(self) -> None:
        self._torch: Any = LIBRARY.torch
        self.tensor_type: type = self._torch.Tensor

    def tensor(self, array: Array, *, requires_grad: bool = False) -> Any:
        """Return a new tensor with a copy of these values."""
        return self._torch.from_numpy(np.array(array)).requires_grad_(requires_grad)

    def array(self, tensor: Any) -> Array:
        """Return a copy of a tensor's values."""
        found: Array = tensor.detach().to_dense().resolve_conj().resolve_neg().cpu().numpy().copy()
        return found

    def differentiable(self, tensor: Any) -> bool:
        """Whether a gradient can start here."""
        return bool(tensor.requires_grad) and (tensor.is_floating_point() or tensor.is_complex())

    def gradients(self, root: Any, inputs: Sequence[Any], *, create_graph: bool = False) -> tuple[Any, ...]:
        """Return the gradients of a scalar with respect to the inputs, None for those that were not used."""
        found: tuple[Any, ...] = self._torch.autograd.grad(root, inputs, create_graph=create_graph, allow_unused=True)
        return found

    def draw(self) -> None:
        """Draw some random numbers."""
        self._torch.rand(7)

    @contextmanager
    def same_random_numbers(self) -> Iterator[None]:
        """Restore the generator after the block."""
        state = self._torch.get_rng_state()
        try:
            yield
        finally:
            self._torch.set_rng_state(state)
