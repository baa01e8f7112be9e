"""retrograd: see what ``backward()`` will do, and why it went wrong.

The package is used like torch (``import retrograd as torch``) and brings the inspector as ``retrograd.inspect``,
which is loaded on first use.
"""

from __future__ import annotations

import difflib
import importlib
import math
from typing import Any

from .engine import dtypes as _dtypes
from .engine.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .engine.dtypes import ALIASES as _DTYPE_ALIASES
from .engine.dtypes import ALL as _ALL_DTYPES
from .engine.dtypes import Size, device, dtype, get_default_dtype, set_default_dtype
from .engine.dtypes import promote_types as _promote
from .engine.forward_ad import _set_fwd_grad_enabled
from .engine.methods import FUNCTIONS as _FUNCTIONS
from .engine.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .engine.printing import set_printoptions
from .engine.random import Generator, get_rng_state, initial_seed, manual_seed, set_rng_state
from .engine.tags import Tag
from .engine.tensor import Tensor

__version__ = "0.1.0"

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
strided, contiguous_format, preserve_format, channels_last = (
    "torch.strided", "torch.contiguous_format", "torch.preserve_format", "torch.channels_last"
)  # fmt: skip

globals().update({d.name: d for d in _ALL_DTYPES})
globals().update(_DTYPE_ALIASES)
globals().update(_FUNCTIONS)

_LAZY_MODULES = (
    "autograd",
    "inspect",
    "library",
    "nn",
    "utils",
    "ops",
    "_C",
    "_custom_op",
    "special",
    "linalg",
    "fft",
    "optim",
    "distributed",
)
_FROM_INSPECT = ("debug",)


def is_inference(t: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return t.is_inference()


def promote_types(a: dtype, b: dtype) -> dtype:
    """The dtype that operands of two dtypes are computed in."""
    return _dtypes.from_numpy_dtype(_promote(a.numpy, b.numpy))


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    if name in _FROM_INSPECT:
        return getattr(importlib.import_module(f"{__name__}.inspect"), name)
    if name == "bfloat16":
        raise AttributeError("retrograd has no bfloat16, because NumPy has none; use float32 or float16")
    raise AttributeError(_missing(name))


def _missing(name: str) -> str:
    near = difflib.get_close_matches(name, [n for n in globals() if not n.startswith("_")], 3)
    hint = f"; the nearest names are {', '.join(near)}" if near else ""
    return f"module 'retrograd' has no attribute '{name}'{hint}"


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_MODULES, *_FROM_INSPECT})


__all__ = [
    "Generator", "Size", "Tensor", "_set_fwd_grad_enabled", "device", "dtype", "enable_grad", "get_default_dtype",
    "get_rng_state", "inference_mode", "initial_seed", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "Tag", "is_grad_enabled", "is_inference", "is_inference_mode_enabled", "manual_seed", "no_grad", "promote_types",
    "set_default_dtype", "set_grad_enabled", "set_printoptions", "set_rng_state",
]  # fmt: skip
