"""``sym_*``: functions of sizes that a compiler may leave symbolic; here all sizes are plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, SupportsFloat, SupportsInt

import numpy as np

_NUMBERS = (int, float, np.integer, np.floating)


class SymInt:
    """A size that a compiler leaves open; nothing here is one."""

    __module__ = "retrograd"


class SymFloat:
    """A number that a compiler leaves open; nothing here is one."""

    __module__ = "retrograd"


class SymBool:
    """A truth value that a compiler leaves open; nothing here is one."""

    __module__ = "retrograd"


def sym_int(a: SupportsInt) -> int:
    """A number truncated to an integer."""
    return int(a)


def sym_float(a: SupportsFloat) -> float:
    """A number as float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """``not a``."""
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t`` if ``b``, else ``f``."""
    return t if b else f


def _extreme(choose: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    for number in (a, b):
        if not isinstance(number, _NUMBERS):
            raise AssertionError(f"expected {_NUMBERS}, got {type(number)}")
    found = choose(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float if one of them is."""
    return _extreme(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float if one of them is."""
    return _extreme(min, a, b)


def sym_sum(*args: Any) -> Any:
    """The sum of numbers, or of those in one list."""
    return sum(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else sum(args)


def sym_sqrt(a: Any) -> float:
    """The square root of a number."""
    return math.sqrt(a)
