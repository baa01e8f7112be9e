"""What programs ask of ``autocast`` outside of its blocks, and set: it is never on, so that settings are noted only."""

from __future__ import annotations

from typing import Any

from ...table.public import public
from ...tensors.devices import device
from ...tensors.dtypes import by_name
from ...warning import warn

_dtypes = {"cuda": "float16", "ipu": "float16", "xpu": "float16", "mps": "float16"}
_cached, _depth = [True], [0]


@public(method=False)
def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that ``autocast`` would compute in; on the CPU that is bfloat16, which is not there, unless set."""
    device(device_type)
    if device_type not in _dtypes:
        raise RuntimeError(
            f"autocast on {device_type} would compute in bfloat16, which NumPy has not; ask "
            "torch.is_autocast_enabled() first"
        )
    return by_name(_dtypes[device_type])


@public(method=False)
def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Noted only: nothing is cast."""
    device(device_type)
    _dtypes[device_type] = str(dtype).rpartition(".")[2]


@public(method=False)
def is_autocast_enabled(device_type: Any = None) -> bool:
    """Whether dtypes are chosen by the operator: never here."""
    return False


@public(method=False)
def set_autocast_enabled(*setting: Any) -> None:
    """Switch off what is off: ``(enabled)`` or ``(device_type, enabled)``; ``RuntimeError`` for switching it on."""
    if setting[-1]:
        raise RuntimeError("autocast cannot be switched on: NumPy has no bfloat16, and computes slower in float16")


@public(method=False)
def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters would be kept for the next use in the block; noted only."""
    return _cached[0]


@public(method=False)
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Noted only: nothing is cast."""
    _cached[0] = enabled


@public(method=False)
def clear_autocast_cache() -> None:
    """Nothing is kept."""


@public(method=False)
def autocast_increment_nesting() -> int:
    """One block more; how many there are then."""
    _depth[0] += 1
    return _depth[0]


@public(method=False)
def autocast_decrement_nesting() -> int:
    """One block less; how many there are then."""
    _depth[0] -= 1
    return _depth[0]


def _of_one_device(name: str, kind: str) -> None:
    """The older functions, which have the device in their name."""
    flag, dtype = f"is_autocast_{name}_enabled", f"get_autocast_{name}_dtype"
    set_flag, set_dtype = f"set_autocast_{name}_enabled", f"set_autocast_{name}_dtype"

    def instead(called: str, better: str) -> None:
        warn(f"torch.{called} is deprecated. Please use torch.{better} instead.", DeprecationWarning)

    def is_enabled() -> bool:
        """Whether ``autocast`` is on: never here."""
        instead(f"{flag}()", f"is_autocast_enabled('{kind}')")
        return False

    def get_dtype() -> Any:
        """The dtype that ``autocast`` would compute in."""
        instead(f"{dtype}()", f"get_autocast_dtype('{kind}')")
        return get_autocast_dtype(kind)

    def set_enabled(enabled: bool) -> None:
        """Switch off what is off."""
        instead(f"{set_flag}(enabled)", f"set_autocast_enabled('{kind}', enabled)")
        set_autocast_enabled(kind, enabled)

    def set_its_dtype(dtype: Any) -> None:
        """Noted only."""
        instead(f"{set_dtype}(dtype)", f"set_autocast_dtype('{kind}', dtype)")
        set_autocast_dtype(kind, dtype)

    functions: dict[str, Any] = {flag: is_enabled, dtype: get_dtype, set_flag: set_enabled, set_dtype: set_its_dtype}
    for public_name, function in functions.items():
        if public_name not in ("is_autocast_gpu_enabled", "set_autocast_gpu_enabled"):  # PyTorch has none
            public(public_name, method=False)(function)


for _name, _kind in (("cpu", "cpu"), ("gpu", "cuda"), ("ipu", "ipu"), ("xla", "xla")):
    _of_one_device(_name, _kind)
