"""View functions: a view made again on another base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....aliasing.views import has_geometry_of_base, replayed_on
from ....table.public import public
from ....tensors.argument_checks import type_name_of
from ....tensors.base import TensorBase


def _check_base(name: str, new_base: Any) -> None:
    if not isinstance(new_base, TensorBase):
        raise TypeError(f"{name}(): argument 'new_base' (position 1) must be Tensor, not {type_name_of(new_base)}")


@public("_view_func", function=False)
def view_func(self: Any, new_base: Any) -> Any:
    """This view on another base; ``None`` for a non-view or a base of other sizes, strides or offset."""
    _check_base("_view_func", new_base)
    return replayed_on(self, new_base) if has_geometry_of_base(self, new_base) else None


@public("_view_func_unsafe", function=False)
def view_func_unsafe(
    self: Any,
    new_base: Any,
    symint_visitor_fn: Callable[[Any], Any] | None = None,
    tensor_visitor_fn: Callable[[Any], Any] | None = None,
) -> Any:
    """The same without comparing the bases.  Sizes are plain numbers here, so there is nothing for visitors to see."""
    _check_base("_view_func_unsafe", new_base)
    return replayed_on(self, new_base)


@public("_rev_view_func_unsafe", function=False)
def rev_view_func_unsafe(self: Any, new_view: Any, tensor_visitor_fn: Callable[[Any], Any] | None = None) -> Any:
    """``None`` for a non-view; ``RuntimeError`` for views, because no row stores an inverse."""
    if self._is_view():
        raise RuntimeError("No _rev_view_func() found: views of strided memory have no stored inverse.")
    return None
