"""The top-level namespace of ``torch``: every name that ``import retrograd as torch`` offers."""

from __future__ import annotations

import importlib
import math
from typing import Any

from .engine.control_flow import cond, while_loop
from .engine.core import dtypes as _dtypes
from .engine.core.devices import device
from .engine.core.devices import device as _device
from .engine.core.dtypes import ALIASES as _DTYPE_ALIASES
from .engine.core.dtypes import ALL as _ALL_DTYPES
from .engine.core.dtypes import dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from .engine.core.dtypes import promote_types as _promote
from .engine.core.layouts import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from .engine.core.narrow import NAMES as _NARROW
from .engine.core.size import Size
from .engine.devices.cuda_names import AcceleratorError, OutOfMemoryError
from .engine.devices.grad_scaler import GradScaler
from .engine.devices.mixed_precision import autocast
from .engine.devices.streams import Event, Stream
from .engine.devices.uncompiled import compile  # noqa: A004 - torch's name
from .engine.forward_mode.forward_ad import _set_fwd_grad_enabled
from .engine.methods import FUNCTIONS as _FUNCTIONS
from .engine.overriding.tags import Tag
from .engine.overriding.wrappers import make_overridable as _make_overridable
from .engine.random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, set_rng_state
from .engine.scope import scope
from .engine.sparse.compressed import sparse_csr
from .engine.sparse.coo import sparse_coo
from .engine.sparse.creating import sparse_compressed_tensor, sparse_coo_tensor, sparse_csr_tensor
from .engine.sparse.functions import hspmm, smm, spmm, sspaddmm
from .engine.switches.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .engine.switches.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .engine.symbolic import (
    SymBool,
    SymFloat,
    SymInt,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_sqrt,
    sym_sum,
)
from .engine.tensors.printing import set_printoptions
from .engine.tensors.tensor import Tensor
from .engine.transforms.vmap import vmap
from .engine.warning import set_warn_always

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None


def is_inference(t: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return t.is_inference()


def promote_types(a: dtype, b: dtype) -> dtype:
    """The dtype that operands of two dtypes are computed in."""
    return _dtypes.from_numpy_dtype(_promote(a.numpy, b.numpy))


def _narrow_dtype(name: str) -> dtype | None:
    """The dtype of this name that NumPy has not, if it is one; ``AttributeError`` where it cannot be made."""
    return _dtypes.by_name(name) if name in _NARROW else None


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of devices, such as ``torch.cuda``; by default that of the CPU."""
    if device is not None and not isinstance(device, (_device, str)):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    kind = _device("cpu" if device is None else device).type
    try:
        return importlib.import_module(f"{__package__}.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        ) from None


__all__ = [
    "AcceleratorError", "Event", "Generator", "GradScaler", "OutOfMemoryError", "Size", "Stream", "SymBool",
    "SymFloat", "SymInt", "Tag", "Tensor", "_narrow_dtype", "_set_fwd_grad_enabled", "autocast", "channels_last",
    "channels_last_3d", "compile", "cond", "contiguous_format", "default_generator", "device", "dtype", "e",
    "enable_grad", "finfo",
    "get_default_dtype", "get_device_module", "get_rng_state", "hspmm", "iinfo", "inf", "inference_mode",
    "initial_seed", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled", "is_inference",
    "is_inference_mode_enabled", "layout", "manual_seed", "memory_format", "nan", "newaxis", "no_grad", "pi",
    "preserve_format", "promote_types", "scope", "set_default_dtype", "set_grad_enabled", "set_printoptions",
    "set_rng_state", "set_warn_always", "smm", "sparse_compressed_tensor",
    "sparse_coo", "sparse_coo_tensor", "sparse_csr", "sparse_csr_tensor",
    "spmm", "sspaddmm", "strided", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt",
    "sym_sum", "vmap", "while_loop",
]  # fmt: skip

NAMES: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Public name -> object: the above, the dtypes and every operator."""
NAMES |= {d.name: d for d in _ALL_DTYPES} | _DTYPE_ALIASES | _FUNCTIONS


def offer_operators(namespace: dict[str, Any]) -> None:
    """Let modes and classes with ``__torch_function__`` be asked by the functions of ``import retrograd as torch``."""
    _make_overridable(namespace, "torch", _FUNCTIONS)
