"""Settings of the process that have a meaning on one CPU with NumPy."""

from __future__ import annotations

import os
from typing import Any

from ...core.argument_checks import type_name_of
from ...core.base import TensorBase
from ...core.devices import device, set_default
from ...core.dtypes import dtype_of_type, from_numpy_dtype, set_default_dtype
from ...random import default_generator
from ...switches import determinism
from ...switches.state import STATE
from ...table.public import check_tensor, public
from ...warning import is_warn_always, warn

_DETERMINISM = ("default", "warn", "error")
_settings: dict[str, Any] = {"threads": None, "precision": "highest"}


def _setting(f: Any) -> Any:
    return public(f.__name__, method=False)(f)


@_setting
def get_num_threads() -> int:
    """The number of threads of NumPy's linear algebra: ``OMP_NUM_THREADS``, otherwise the number of CPUs."""
    if _settings["threads"] is not None:
        return int(_settings["threads"])
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return int(setting) if setting.isdigit() and int(setting) else os.cpu_count() or 1


@_setting
def set_num_threads(int_: int) -> None:
    """Noted only: NumPy reads ``OMP_NUM_THREADS`` when it starts."""
    if not isinstance(int_, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type_name_of(int_)}")
    if int_ <= 0:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {int_}")
    _settings["threads"] = int_


@_setting
def get_num_interop_threads() -> int:
    """The number of threads that was set for running operators in parallel; here only one does."""
    return int(_settings.get("interop", 1))


@_setting
def set_num_interop_threads(int_: int) -> None:
    """Noted only: operators run one after the other."""
    if int_ <= 0:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, got {int_}")
    _settings["interop"] = int_


@_setting
def get_float32_matmul_precision() -> str:
    """The precision that was set for float32 matrix products; here they are always computed in full."""
    return str(_settings["precision"])


@_setting
def set_float32_matmul_precision(precision: str) -> None:
    """Noted only: products are computed in full."""
    if precision not in ("highest", "high", "medium"):
        warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; this setFloat32MatmulPrecision call has no "
            "effect."
        )
        return
    _settings["precision"] = precision


@_setting
def set_flush_denormal(mode: bool) -> bool:
    """Whether numbers near zero could be made zero: NumPy has no such switch, so ``False``."""
    return False


@_setting
def is_warn_always_enabled() -> bool:
    """Whether warnings that are normally shown once are shown every time."""
    return is_warn_always()


@_setting
def get_device(input: Any) -> int:  # noqa: A002
    """The number of a tensor's device: -1, the CPU."""
    check_tensor("get_device", input)
    return -1


@_setting
def seed() -> int:
    """Start the generator from an unpredictable seed and return it."""
    return default_generator.seed()


@_setting
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Everything here is deterministic, but what is not in PyTorch is refused; unwritten memory is filled."""
    if not isinstance(mode, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}"
        )
    determinism.level = (1 if warn_only else 2) if mode else 0


@_setting
def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms are requested."""
    return bool(determinism.level)


@_setting
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether deterministic algorithms are requested with a warning instead of an error."""
    return bool(determinism.level == 1)


@_setting
def get_deterministic_debug_mode() -> int:
    """0 (default), 1 (warn) or 2 (error)."""
    return int(determinism.level)


@_setting
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set it as a number or ``"default"``, ``"warn"``, ``"error"``."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in _DETERMINISM:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    if not isinstance(debug_mode, str) and debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    determinism.level = _DETERMINISM.index(debug_mode) if isinstance(debug_mode, str) else debug_mode


@_setting
def is_vulkan_available() -> bool:
    """False: there is no Vulkan here."""
    return False


@_setting
def compiled_with_cxx11_abi() -> bool:
    """True, as in PyTorch's builds."""
    return True


@_setting
def get_default_device() -> device:
    """The device on which new tensors are made by default."""
    return STATE.device or device("cpu")


@_setting
def set_default_device(device: Any) -> None:
    """Make new tensors of this thread on a device: the CPU or ``meta``; ``RuntimeError`` for another."""
    set_default(device)


@_setting
def set_default_tensor_type(t: Any) -> None:
    """Change the default dtype by an old tensor type or its name; use ``set_default_dtype`` instead."""
    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    if isinstance(t, str):
        set_default_dtype(from_numpy_dtype(dtype_of_type(t).numpy))
    else:
        set_default_dtype(t.dtype)


@_setting
def is_storage(obj: Any) -> bool:
    """Whether something is the memory under a tensor."""
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage") and type(obj).__module__.startswith("retrograd")


@public("is_distributed")
def is_distributed(input: Any) -> bool:  # noqa: A002
    """Whether a tensor is spread over processes: never."""
    return not isinstance(input, TensorBase)
