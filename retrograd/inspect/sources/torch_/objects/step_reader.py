"""Reads what PyTorch's parameters and their gradients hold, on any device, in any layout and dtype."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ....program.signals import let_pass
from ...step_effects import content_of, is_zero
from ..library import LIBRARY
from ..values.values import Readable


class StepReader:
    """``Reader`` of PyTorch; asked in the midst of a program, by which nothing of it may be called."""

    def __init__(self) -> None:
        self._readable = Readable()

    def contents(self, parameters: Sequence[Any]) -> list[Hashable]:
        """Return for each parameter what differs if its values do."""
        if not self._readable.now():
            return [None] * len(parameters)
        return self._each(parameters, self._content, _sums)

    def gradients(self, parameters: Sequence[Any]) -> list[str | None]:
        """Return for each whether ``.grad`` is none or zero."""
        if not self._readable.now():
            return [None] * len(parameters)
        held = [tensor.grad if tensor.is_leaf else tensor for tensor in parameters]
        zero = self._each([grad for grad in held if grad is not None], self._is_zero, _is_all_zero)
        states = iter(zero)
        return ["none" if grad is None else "zero" if next(states) else None for grad in held]

    def place(self, parameter: Any) -> Hashable:
        """Return where a parameter lies, and its version."""
        try:
            return (parameter.data_ptr(), parameter._version) if type(parameter) in self._readable.plain else None
        except Exception as failure:  # without memory, an inference tensor, …
            let_pass(failure)
            return None

    def _each(self, tensors: Sequence[Any], here: Callable[[Any], Any], elsewhere: Callable[[Any], Any]) -> list[Any]:
        """Return an answer for each tensor; those of other devices are waited for once, all together."""
        found: list[Any] = [None] * len(tensors)
        waiting: dict[Any, list[tuple[int, Any]]] = {}
        for place, tensor in enumerate(tensors):
            try:
                if tensor.device.type == "cpu":
                    found[place] = here(tensor)
                elif self._may_be_waited_for(tensor):
                    waiting.setdefault(tensor.device, []).append((place, elsewhere(tensor.detach())))
            except Exception as failure:
                let_pass(failure)
        for asked in waiting.values():
            answers = LIBRARY.torch.stack([answer for _, answer in asked]).tolist()
            for (place, _), answer in zip(asked, answers, strict=True):
                found[place] = tuple(answer) if isinstance(answer, list) else answer
        return found

    def _may_be_waited_for(self, tensor: Any) -> bool:
        """Whether values on another device may be asked for now: not while a graph of CUDA is captured."""
        torch: Any = LIBRARY.torch
        device = tensor.device.type
        if type(tensor) not in self._readable.plain or device == "meta" or tensor.layout is not torch.strided:
            return False
        return device != "cuda" or not torch.cuda.is_current_stream_capturing()

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


def _sums(tensor: Any) -> Any:
    """Return two sums over the bytes of a tensor, and over their squares, on its device."""
    torch: Any = LIBRARY.torch
    entries = tensor.contiguous().view(-1).view(torch.uint8)
    words, rest = entries[: entries.numel() // 8 * 8].view(torch.int64), entries[entries.numel() // 8 * 8 :]
    return torch.stack([words.sum(), (words * words).sum(), rest.sum()])


def _is_all_zero(gradient: Any) -> Any:
    """Return whether all entries are zero, as a scalar on their device."""
    return gradient.count_nonzero().eq(0)
