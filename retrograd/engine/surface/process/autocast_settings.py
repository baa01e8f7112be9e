"""``autocast`` settings read and set outside its blocks: effective for the CPU, only stored for other devices."""

from __future__ import annotations

from typing import Any

from ...core.devices import device
from ...core.dtypes import by_name
from ...devices import casting
from ...table.public import public
from ...warning import warn

_dtypes = {"cuda": "float16", "ipu": "float16", "xpu": "float16", "mps": "float16"}


@public(method=False)
def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that ``autocast`` would compute in: bfloat16 on most devices, unless set."""
    device(device_type)
    return by_name(casting.HERE.dtype if device_type == "cpu" else _dtypes.get(device_type, "bfloat16"))


@public(method=False)
def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the dtype in which ``autocast`` computes on a device."""
    device(device_type)
    name = str(dtype).rpartition(".")[2]
    if device_type == "cpu":
        casting.HERE.dtype = name
    else:
        _dtypes[device_type] = name


@public(method=False)
def is_autocast_enabled(device_type: Any = None) -> bool:
    """Whether ``autocast`` is on for a device; without one, for CUDA, as in PyTorch."""
    return device_type == "cpu" and casting.HERE.enabled


@public(method=False)
def set_autocast_enabled(*setting: Any) -> None:
    """``(device_type, enabled)``, or ``(enabled)`` of CUDA; ``RuntimeError`` for switching on what is not there."""
    kind = setting[0] if len(setting) > 1 else "cuda"
    if kind == "cpu":
        casting.switch(enabled=bool(setting[-1]))
    elif setting[-1]:
        raise RuntimeError(f"autocast cannot be switched on for {kind}, which is not available; there is the CPU")


@public(method=False)
def is_autocast_cache_enabled() -> bool:
    """Whether cast parameters are cached within a block."""
    return casting.HERE.cached


@public(method=False)
def set_autocast_cache_enabled(enabled: bool) -> None:
    """Switch the cache of cast parameters on or off."""
    casting.HERE.cached = enabled


@public(method=False)
def clear_autocast_cache() -> None:
    """Clear the cache of cast parameters."""
    casting.HERE.kept.clear()


@public(method=False)
def autocast_increment_nesting() -> int:
    """Enter an autocast block; return how many are open now."""
    casting.HERE.depth += 1
    return casting.HERE.depth


@public(method=False)
def autocast_decrement_nesting() -> int:
    """Leave an autocast block; return how many are still open."""
    casting.HERE.depth -= 1
    return casting.HERE.depth


def _of_one_device(name: str, kind: str) -> None:
    """The older functions, which have the device in their name."""
    flag, dtype = f"is_autocast_{name}_enabled", f"get_autocast_{name}_dtype"
    set_flag, set_dtype = f"set_autocast_{name}_enabled", f"set_autocast_{name}_dtype"

    def instead(called: str, better: str) -> None:
        warn(f"torch.{called} is deprecated. Please use torch.{better} instead.", DeprecationWarning)

    def is_enabled() -> bool:
        """Whether ``autocast`` is on."""
        instead(f"{flag}()", f"is_autocast_enabled('{kind}')")
        return bool(is_autocast_enabled(kind))

    def get_dtype() -> Any:
        """The dtype that ``autocast`` would compute in."""
        instead(f"{dtype}()", f"get_autocast_dtype('{kind}')")
        return get_autocast_dtype(kind)

    def set_enabled(enabled: bool) -> None:
        """Switch it on or off."""
        instead(f"{set_flag}(enabled)", f"set_autocast_enabled('{kind}', enabled)")
        set_autocast_enabled(kind, enabled)

    def set_its_dtype(dtype: Any) -> None:
        """Set the dtype in which ``autocast`` computes."""
        instead(f"{set_dtype}(dtype)", f"set_autocast_dtype('{kind}', dtype)")
        set_autocast_dtype(kind, dtype)

    functions: dict[str, Any] = {flag: is_enabled, dtype: get_dtype, set_flag: set_enabled, set_dtype: set_its_dtype}
    for public_name, function in functions.items():
        if public_name not in ("is_autocast_gpu_enabled", "set_autocast_gpu_enabled"):  # PyTorch has none
            public(public_name, method=False)(function)


for _name, _kind in (("cpu", "cpu"), ("gpu", "cuda"), ("ipu", "ipu"), ("xla", "xla")):
    _of_one_device(_name, _kind)
