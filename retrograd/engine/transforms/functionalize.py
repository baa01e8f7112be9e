"""``functionalize``, and values without their levels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase, wrap

# `func.debug_unwrap`: the tensor inside the transforms of `torch.func`, for debugging.


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """A tensor without history over the same memory; of an entry of a batch, that entry. For printing only."""
    if not isinstance(tensor, TensorBase):
        return tensor
    return wrap(tensor._array, shares=True)


# `functionalize`: turns a function into one without in-place writes and views, as compilers need it.

_REMOVABLE = ("mutations", "mutations_and_views")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` with the same results and the same effects on its arguments.

    Which operations compute them is seen only by those who trace the function, and nothing is traced here: so it runs
    as it is.  ``RuntimeError`` for what cannot be removed.
    """

    if remove not in _REMOVABLE:
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options "
            "are:\n     remove='mutations': in-place and out= operators are replaced.\n"
            "     remove='mutations_and_views': views are replaced by copies, too."
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return wrapped
