"""Reads what PyTorch's parameters and their gradients hold, on any device, in any layout and dtype."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ....program.signals import let_pass
from ...array_values import Array
from ...step_effects import content_of, is_zero
from ..values.readbacks import CONTENT, READBACKS, ZEROS, Promise
from ..values.values import Readable


class StepReader:
    """``Reader`` of PyTorch; asked in the midst of a program, by which nothing of it may be called."""

    def __init__(self) -> None:
        self._readable = Readable()

    def contents(self, parameters: Sequence[Any]) -> list[Hashable]:
        """Return for each parameter what differs if its values do."""
        if not self._readable.now():
            return [None] * len(parameters)
        found = self._each(parameters, self._content, CONTENT)
        return [one.all if isinstance(one, Promise) else one for one in found]

    def gradients(self, parameters: Sequence[Any]) -> list[str | None]:
        """Return for each whether ``.grad`` is none or zero."""
        if not self._readable.now():
            return [None] * len(parameters)
        held = [tensor.grad if tensor.is_leaf else tensor for tensor in parameters]
        found = self._each([grad for grad in held if grad is not None], self._is_zero, ZEROS)
        states = iter([one["zeros"] == one.size if isinstance(one, Promise) else one for one in found])
        return ["none" if grad is None else "zero" if next(states) else None for grad in held]

    def values(self, parameters: Sequence[Any]) -> list[Array | None]:
        """Return the values of each that lies on the CPU and has several rows."""
        if not self._readable.now():
            return [None] * len(parameters)
        return [self._rows(parameter) for parameter in parameters]

    def _rows(self, parameter: Any) -> Array | None:
        near = parameter.ndim > 1 and not self._readable.is_far(parameter)
        return self._readable.array(parameter) if near and parameter.dtype in self._readable.wide else None

    def place(self, parameter: Any) -> Hashable:
        """Return where a parameter lies, and its version."""
        try:
            return (parameter.data_ptr(), parameter._version) if type(parameter) in self._readable.plain else None
        except Exception as failure:  # without memory, an inference tensor, …
            let_pass(failure)
            return None

    def _each(self, tensors: Sequence[Any], here: Callable[[Any], Any], names: tuple[str, ...]) -> list[Any]:
        """Return an answer for each tensor; those of other devices are asked for figures, and waited for together."""
        found: list[Any] = [None] * len(tensors)
        for place, tensor in enumerate(tensors):
            try:
                found[place] = READBACKS.ask(tensor, names) if self._readable.is_far(tensor) else here(tensor)
            except Exception as failure:
                let_pass(failure)
        return found

    def _content(self, tensor: Any) -> Hashable:
        """Return what differs if the values of a tensor of the CPU do."""
        readable = self._readable
        if not readable.is_plain(tensor) or not tensor.numel():
            return None
        if readable.size_in_one_piece(tensor) != tensor.numel():
            tensor = tensor.detach().contiguous()
        pointer, size = tensor.data_ptr(), tensor.numel() * tensor.element_size()
        if not pointer:
            return None
        return content_of(np.frombuffer((ctypes.c_char * size).from_address(pointer), np.uint8))

    def _is_zero(self, gradient: Any) -> bool:
        """Whether the entries of a gradient of the CPU are known, and all zero."""
        array = self._readable.gradient(gradient)
        return array is not None and is_zero(array)
