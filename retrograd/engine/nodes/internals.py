"""Functions of PyTorch's C layer that programs use on tensors: weak references, versions, raw saved values."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ..aliasing.versions import storage_of
from ..aliasing.views import gradient_edge
from ..core.argument_checks import check_bool
from ..core.base import TensorBase
from ..switches.modes import switch_for_good
from .saved import SavedTensor


class _WeakTensorRef:
    """Knows whether a tensor still exists, without keeping it."""

    def __init__(self, tensor: Any) -> None:
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._ref() is None


def _make_saved_tensor(tensor: Any, is_output: bool = False) -> SavedTensor:
    """Save a tensor as a node would; active saved-tensor hooks apply."""
    return SavedTensor(tensor, is_output, edge=None if is_output else gradient_edge(tensor))


def _unsafe_set_version_counter(tensors: Sequence[TensorBase], versions: Sequence[int]) -> None:
    """Force the version of each tensor."""
    for t, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        storage_of(t).set_version(version)


def _set_grad_enabled(enabled: bool) -> None:
    """Switch recording in this thread for good."""
    check_bool("set_grad_enabled", "enabled", enabled, 1)
    switch_for_good(enabled, "set_grad_enabled")
