"""``view(dtype)``: the same memory read as numbers of another type."""

from __future__ import annotations

from typing import Any

from ....aliasing.strided import element_strides, root_array
from ....aliasing.versions import share_storage
from ....calls.refusals import refuse
from ....tensors.base import wrap
from ....tensors.batches import mark_alias
from ....tensors.dtype_names import scalar_name


def seen_as(self: Any, numpy: Any) -> Any:
    """A tensor without history on the same memory; its last dimension shrinks or grows with the size of elements."""
    have = self._sig.numpy
    array = self._array
    if numpy.itemsize != have.itemsize:
        what = f"to view {scalar_name(have)} as {scalar_name(numpy)} (different element sizes)"
        refuse(not array.ndim, f"self.dim() cannot be 0 {what}")
        stride = element_strides(array)[-1]
        refuse(stride != 1 and array.size > 1, f"self.stride(-1) must be 1 {what}, but got {stride}")
        ratio, rest = divmod(numpy.itemsize, have.itemsize)
        size = array.shape[-1]
        refuse(ratio > 0 and bool(size % ratio), f"self.size(-1) must be divisible by {ratio} {what}, but got {size}")
        assert not rest or not ratio
    if self._is_view():
        root_array(self)  # where the memory begins, which the alias does not tell
    alias = self.reinterpreted(numpy) if self.is_meta else wrap(array.view(numpy))
    share_storage(alias, self)
    mark_alias(alias, self)
    return alias
