"""Copies of views: ``select_copy`` and the like, each with the rule of its view."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ...core.registry import OPS, F
from ...table.rows import linear, underivable
from ..pointwise import parts  # noqa: F401 - the rows of the views must be there first
from . import rearrange, shape  # noqa: F401 - likewise


class Copying:
    """A copy of the view of the same name."""

    def __init__(self, view: Any) -> None:
        self.view = view
        self.__signature__ = inspect.signature(view)

    def __call__(self, *args: Any) -> Any:
        seen = self.view(*args)
        if isinstance(seen, np.ndarray):
            return np.array(seen, order="C")
        return tuple([np.array(part, order="C") for part in seen])


VIEWS = {
    "alias_copy": "alias", "permute_copy": "_permute", "select_copy": "select", "slice_copy": "_slice",
    "transpose_copy": "transpose", "t_copy": "t", "unsqueeze_copy": "unsqueeze", "expand_copy": "expand",
    "view_copy": "_view", "diagonal_copy": "diagonal", "unfold_copy": "unfold", "_squeeze_copy": "_squeeze",
    "_squeeze_dim_copy": "_squeeze_dim", "_squeeze_dims_copy": "_squeeze_dims", "_unbind_copy": "unbind",
    "_split_copy": "_split", "_split_with_sizes_copy": "_split_with_sizes", "view_as_real_copy": "view_as_real",
}  # fmt: skip
"""Rows of copies and the rows of their views."""

for _name, _view in VIEWS.items():
    _row = OPS[_view]
    linear(_name, Copying(_row.forward), node=f"{_row.node_class.__name__}_copy", public=False, outputs=_row.outputs,
           real_only=_name if _name in ("select_copy", "slice_copy") else "", **_row.rules)  # fmt: skip


def _narrow_copy(self: Any, dim: int, start: int, length: int) -> Any:
    return np.array(OPS["_slice"].forward(self, dim, start, start + length, 1), order="C")


linear("_narrow_copy", _narrow_copy, node="NarrowCopyBackward0",
       self=lambda g, self_sizes, dim, start, length: F._slice_backward(
           g, tuple(self_sizes), dim, start, start + length, 1))  # fmt: skip
underivable("_detach_copy", lambda self: np.array(self))
