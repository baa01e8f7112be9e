"""Predicates of tensors (``is_…``), most of them about devices and layouts that do not exist here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...aliasing.shared_memory import is_in_shared_memory, move_to_shared_memory
from ...aliasing.strided import address
from ...core.base import TensorBase
from ...core.batches import is_batched, refuse_choice
from ...core.bits import memory_of
from ...core.layouts import strided
from ...table.public import PROPERTIES, check_tensor, public

_NEVER = (
    "is_cuda", "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized",
    "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu",
)  # fmt: skip
"""Properties that are false for every tensor: one device, one layout."""

for _name in _NEVER:
    PROPERTIES.setdefault(_name, lambda self: False)
PROPERTIES.setdefault("is_cpu", lambda self: True)
PROPERTIES.setdefault("layout", lambda self: strided)


@public(method=False)
def is_tensor(value: Any) -> bool:
    """Whether ``value`` is a tensor."""
    return isinstance(value, TensorBase)


@public()
def is_nonzero(input: Any) -> bool:  # noqa: A002
    """Whether the only element is not 0; ``RuntimeError`` for any other number of elements."""
    check_tensor("is_nonzero", input)
    if input.numel() != 1:
        raise RuntimeError(
            "Boolean value of Tensor with "
            + ("no values" if not input.numel() else "more than one value")
            + " is ambiguous"
        )
    if is_batched(input):
        refuse_choice()
    return bool(input._array.reshape(()) != 0)


@public()
def is_same_size(input: Any, other: Any) -> bool:  # noqa: A002
    """Whether two tensors have one shape."""
    check_tensor("is_same_size", input)
    return bool(input._sig.shape == other._sig.shape)


@public()
def is_signed(input: Any) -> bool:  # noqa: A002
    """Whether the dtype has negative numbers."""
    check_tensor("is_signed", input)
    return bool(input._sig.dtype.is_signed)


@public(function=False)
def is_pinned(self: Any, device: Any = None) -> bool:
    """Whether the memory is locked for a device: never."""
    return False


@public(function=False)
def is_shared(self: Any) -> bool:
    """Whether the memory is shared with forked processes."""
    return is_in_shared_memory(memory_of(self))


@public(function=False)
def is_set_to(self: Any, tensor: Any) -> bool:
    """Whether both are the same window of the same memory."""
    check_tensor("is_set_to", tensor)
    same_place = address(self._array) == address(tensor._array) and self._sig.plain is tensor._sig.plain
    return bool(same_place and self._array.strides == tensor._array.strides)


@public(function=False)
def share_memory_(self: Any) -> Any:
    """The tensor itself, moved with its views into memory that it shares with processes which are forked later."""
    if not is_in_shared_memory(memory_of(self)) and type(memory_of(self)) is np.ndarray:
        move_to_shared_memory(self)
    return self


# -- layouts: every tensor is dense


@public(function=False)
def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The tensor itself, in another dtype if one is given."""
    return self if dtype is None else self.to(dtype)


@public(function=False)
def dense_dim(self: Any) -> int:
    """All dimensions."""
    return int(self.ndim)


@public(function=False)
def sparse_dim(self: Any) -> int:
    """None of the dimensions: 0."""
    return 0


_LAYOUTS = {"torch.sparse_coo": "Sparse", "torch.sparse_csr": "SparseCsr"}


def _only_sparse(name: str, kind: str) -> None:
    def refuse(self: Any) -> Any:
        raise RuntimeError(f"{name} expected {kind} layout but got {_LAYOUTS.get(str(self.layout), 'Strided')}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "``RuntimeError``: of sparse tensors only."
    public(name, function=False)(refuse)


for _name in ("is_coalesced", "coalesce", "indices"):
    _only_sparse(_name, "sparse coordinate tensor")
for _name in ("crow_indices", "col_indices"):
    _only_sparse(_name, "sparse row compressed tensor")
_only_sparse("values", "sparse tensor")
