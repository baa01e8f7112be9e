"""``device``: the CPU, or ``meta``, on which tensors have no memory."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Final

from ..switches.state import STATE

DEVICE_TYPES: Final = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
"""Kinds of devices that PyTorch knows by name."""


class device:  # noqa: N801 - torch's name
    """The place of a tensor: the CPU, or ``meta``.  Others can be named, but no tensor can be there."""

    __module__ = "retrograd"
    __slots__ = ("index", "type")

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:  # noqa: A002
        if isinstance(type, int):
            raise RuntimeError(
                "Cannot access accelerator device when none is available: retrograd computes on the CPU only"
            )
        if not isinstance(type, (str, device)):
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({builtins.type(type).__name__}), but "
                "expected one of:\n * (torch.device device)\n * (str type, int index = -1)"
            )
        if type == "":
            raise RuntimeError("Device string must not be empty")
        kind, colon, number = str(type).partition(":")
        if kind not in DEVICE_TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: {kind}"
            )
        if colon and (not number.isdecimal() or str(int(number)) != number):
            raise RuntimeError(f"Invalid device string: '{type}'")
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        self.type: str = kind
        self.index = int(number) if colon else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (other.type, other.index) == (self.type, self.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type, self.index))

    def __enter__(self) -> device:
        """New tensors are made on this device until the end of the block."""
        outer = STATE.device
        set_default(self)
        STATE.devices_outside.append(outer)
        return self

    def __exit__(self, *exc: object) -> None:
        """Those after it are made where they were before."""
        STATE.device = STATE.devices_outside.pop()


CPU: Final = device("cpu")


def _unmoved(t: Any, numpy: Any) -> Any:
    return t


def _no_other() -> None:
    """Replaced once there is another device."""


move: Callable[[Any, Any], Any] = _unmoved
"""Gives a tensor to or from ``meta``, in NumPy's dtype (``meta.creation`` sets it)."""
on_other_default: Callable[[], None] = _no_other
"""Called when new tensors are to be made elsewhere than on the CPU (``meta.creation`` sets it)."""


def is_meta(wanted: Any) -> bool:
    """Whether a ``device=`` argument asks for tensors without memory."""
    return wanted is not None and (wanted if isinstance(wanted, device) else device(wanted)).type == "meta"


def set_default(wanted: Any) -> None:
    """Let this thread make new tensors on a device; ``None`` for the CPU."""
    if wanted is not None:
        check_present(wanted)
    if is_meta(wanted):
        on_other_default()
        STATE.device = device("meta")
    else:
        STATE.device = None


_WITHOUT_SUPPORT: Final = ("cuda", "xpu", "mtia")
"""Devices for which PyTorch's CPU build says that it was compiled without them."""


def check_present(wanted: Any) -> None:
    """Refuse a device where tensors are to be and cannot: each but the CPU and ``meta``."""
    kind = (wanted if isinstance(wanted, device) else device(wanted)).type
    if kind in ("cpu", "meta"):
        return
    why = "retrograd computes on the CPU only; use device='cpu'"
    if kind in _WITHOUT_SUPPORT:
        raise AssertionError(f"Torch not compiled with {kind.upper()} enabled: {why}")
    raise RuntimeError(f"PyTorch is not linked with support for {kind} devices: {why}")
