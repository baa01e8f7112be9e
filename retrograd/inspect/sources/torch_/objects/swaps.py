"""Follows ``torch.utils.swap_tensors``: two tensor objects exchange all their content."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...patches import Patches
from ..calls.tensors import describe_anew
from ..library import LIBRARY
from ..problems import unseen


class Swaps:
    """Tells the tables of tensors of every recording that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def install(self, patches: Patches) -> None:
        """Wrap what exchanges the contents in the end."""
        patches.wrap(LIBRARY.torch._C, "_swap_tensor_impl", self._wrap)

    def _wrap(self, original: Callable[..., None]) -> Callable[..., None]:
        def _swap_tensor_impl(*tensors: Any) -> None:
            original(*tensors)
            unseen(self._swapped, tensors)

        return _swap_tensor_impl

    def _swapped(self, tensors: Iterable[Any]) -> None:
        for watch in self._watches():
            for tensor in tensors:
                describe_anew(watch.sink.tensors, tensor)
