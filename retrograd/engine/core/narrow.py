"""bfloat16 and 8-bit floats: dtypes that NumPy lacks, taken from ``ml_dtypes`` on first use.

What is computed of bfloat16 is computed in single precision and rounded once; nothing is computed of eight bits.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

import numpy as np

BRAIN: Any = None
"""NumPy's dtype for bfloat16, once it has been asked for."""
LOADED: Final[set[Any]] = set()
"""The dtypes that have been asked for."""
EIGHT_BITS: Final = ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
"""The floats of eight bits, by how many digits their exponents and mantissas have."""
NAMES: Final = ("bfloat16", *[f"float8_{digits}" for digits in EIGHT_BITS])
COMMAND: Final = "pip install 'retrograd[bfloat16]'"
_WIDE: Final = np.dtype(np.float32)


def load(name: str) -> Any:
    """NumPy's dtype by torch's name; ``AttributeError`` that says what to install where ``ml_dtypes`` is not."""
    global BRAIN
    try:
        found = np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    except ImportError:
        raise AttributeError(
            f"{name} needs ml_dtypes, since NumPy has no such dtype: `{COMMAND}`; or use float32 or float16"
        ) from None
    LOADED.add(found)
    if name == "bfloat16":
        BRAIN = found
    return found


def kind_of(numpy: Any) -> str:
    """NumPy's letter for the kind of a dtype, and ``f`` for those that NumPy does not know."""
    kind: str = numpy.kind
    return "f" if kind == "V" and numpy in LOADED else kind


def is_narrow(dtype: Any) -> bool:
    """Whether a dtype, torch's or NumPy's, is one that NumPy has not."""
    return bool(LOADED) and getattr(dtype, "numpy", dtype) in LOADED


def limits(numpy: Any) -> Any:
    """``np.finfo`` for any floating-point dtype."""
    return importlib.import_module("ml_dtypes").finfo(numpy) if numpy in LOADED else np.finfo(numpy)


def is_eight_bits(numpy: Any) -> bool:
    """Whether a dtype is one of the 8-bit floats, which are only for storage."""
    return numpy in LOADED and numpy is not BRAIN


def single(array: Any) -> Any:
    """The same numbers, of one of these dtypes, in single precision."""
    return array.astype(_WIDE)


def rounded(array: Any, numpy: Any) -> Any:
    """Numbers in one of these dtypes, the nearest with an even last digit; an array of them as it is."""
    if array.dtype == numpy:
        return array
    if array.dtype != _WIDE and array.dtype not in LOADED:
        with np.errstate(all="ignore"):
            array = array.astype(_WIDE)  # as PyTorch: each of these is reached by way of single precision
    if numpy is not BRAIN:
        return _eight_bits(single(array) if array.dtype in LOADED else array, numpy)
    with np.errstate(all="ignore"):
        return array.astype(numpy)


def _eight_bits(array: Any, numpy: Any) -> Any:
    """Numbers in eight bits as PyTorch makes them, which differs from ``ml_dtypes`` beyond the range."""
    if numpy.name == "float8_e4m3fn":
        most = _WIDE.type(limits(numpy).max)
        array = np.clip(array, -most, most)
    elif numpy.name == "float8_e8m0fnu":  # powers of two, without a sign and without zero
        array = np.maximum(np.abs(array), _WIDE.type(limits(numpy).tiny))
    with np.errstate(all="ignore"):
        return array.astype(numpy)


def widened(value: Any) -> Any:
    """An array of such a dtype, or each in a list or tuple, in single precision; anything else as it is."""
    if value.__class__ is np.ndarray:
        return single(value) if value.dtype in LOADED else value
    if value.__class__ in (list, tuple):
        return value.__class__([widened(part) for part in value])
    return value


def cast(array: Any, numpy: Any) -> Any:
    """An array in another dtype, of which NumPy may not know either."""
    if array.dtype == numpy:
        return array
    wide = single(array) if array.dtype in LOADED else array
    return rounded(wide, numpy) if numpy in LOADED else wide.astype(numpy, copy=False)
