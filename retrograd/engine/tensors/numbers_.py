"""Python numbers beside tensors: each is an array without dimensions that is made once.

NumPy turns ``array * 0.5`` into an array operation by converting the number anew, which costs more than the
multiplication of small arrays itself (0.3 µs).  A ``Number`` holds the converted value and stands where a tensor
stands; it keeps the number as it was given, for whoever asks for the saved value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import Sig

_MOST = 50_000
"""How many numbers of one dtype are kept; the rest are converted each time."""


class Number:
    """A Python number as operand of a tensor of some real dtype: ``_array`` as in tensors, never with history."""

    __slots__ = ("_array", "value")
    _fn = None
    _meta = None

    def __init__(self, value: Any, array: Any) -> None:
        self.value = value
        self._array = array


def number_operand(sig: Sig, value: Any) -> Number | None:
    """The number as operand beside a tensor; ``None`` where NumPy has to see the number itself."""
    known = sig.floats if value.__class__ is float else sig.ints
    if known is None:
        return None
    try:
        with np.errstate(all="ignore"):
            made = Number(value, np.array(value, sig.numpy))
    except OverflowError:
        return None
    # 0.0 and -0.0 are the same key, and no NaN is: these are made each time
    if len(known) < _MOST and value == value and (value != 0 or value.__class__ is int):
        known[value] = made
    return made
