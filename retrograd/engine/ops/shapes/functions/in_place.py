"""In-place changes of shape: the tensor becomes one of its own views, in memory and in the graph."""

from __future__ import annotations

from typing import Any

from ....aliasing.history import set_history
from ....aliasing.inplace import bump_version
from ....aliasing.strided import Geometry
from ....aliasing.strided import storage_offset as offset_of
from ....aliasing.versions import storage_of
from ....aliasing.views import gradient_edge, requires_grad
from ....aliasing.write_rules import check_inplace
from ....forward_mode.forward_ad import keep_tangent, tangent_of
from ....switches.transforming import write_in_transform
from ....table.public import public
from ....table.registry import OPS
from ....tensors.base import set_array
from ....tensors.bits import bits_of, mark, memory_of
from .squeezing import squeeze_arguments, squeeze_row
from .windows import checked_window

_IN_PLACE = {
    name: OPS[name].with_node(node)
    for name, node in {
        "t": "TBackward1",
        "transpose": "TransposeBackward1",
        "unsqueeze": "UnsqueezeBackward1",
        "_squeeze": "SqueezeBackward3",
        "_squeeze_dim": "SqueezeBackward4",
        "_squeeze_dims": "SqueezeBackward5",
        "as_strided": "AsStridedBackward1",
    }.items()
}


def _reshape_in_place(self: Any, row: str, *args: Any) -> Any:
    """Give a tensor the shape of one of its views, and that view's place in the graph."""
    op = _IN_PLACE[row]
    write_in_transform(self, op.name.strip("_") + "_")
    check_inplace(self, requires_grad(self))
    view = self._meta.view if self._meta is not None else None
    edge = gradient_edge(self)
    made = op(self, *args)
    array, bits = memory_of(made), bits_of(made)
    new_edge = gradient_edge(made) if edge is not None else None
    tangent = tangent_of(made)
    if tangent is not None:
        keep_tangent(self, tangent)
    set_array(self, array)
    mark(self, bits)
    bump_version(self)
    if view is not None:
        version = view.version if new_edge is None else storage_of(self).version
        before, view = view, made._meta.view
        self._meta.view = view
        view.fn, view.version = before.fn if new_edge is None else new_edge, version
        view.tag = before.tag  # it stays what it was made as, whatever mode it is turned in
    elif new_edge is not None:
        set_history(self, new_edge)
    return self


@public("transpose_", function=False)
def transpose_(self: Any, dim0: int, dim1: int) -> Any:
    """In-place transpose."""
    return _reshape_in_place(self, "transpose", dim0, dim1)


@public("swapaxes_", function=False)
def swapaxes_(self: Any, axis0: int, axis1: int) -> Any:
    """``transpose_`` under NumPy's name."""
    return transpose_(self, axis0, axis1)


public("swapdims_", function=False)(transpose_)


@public("t_", function=False)
def t_(self: Any) -> Any:
    """In-place matrix transpose."""
    return _reshape_in_place(self, "t")


@public("squeeze_", function=False)
def squeeze_(self: Any, *dim: Any) -> Any:
    """In-place squeeze."""
    return _reshape_in_place(self, squeeze_row(dim), *squeeze_arguments(dim))


@public("unsqueeze_", function=False)
def unsqueeze_(self: Any, dim: int) -> Any:
    """In-place unsqueeze."""
    return _reshape_in_place(self, "unsqueeze", dim)


@public("as_strided_")
def as_strided_(self: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """In-place as_strided."""
    offset = checked_window(self, tuple(size), tuple(stride), storage_offset)
    geometry = Geometry.of(self._array, offset_of(self))
    return _reshape_in_place(self, "as_strided", tuple(size), tuple(stride), offset, geometry)
