"""``device``: places where tensors could be, of which there is one here."""

from __future__ import annotations

from typing import Any, Final

DEVICE_TYPES: Final = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
"""Kinds of devices that PyTorch knows by name."""


class device:  # noqa: N801 - torch's name
    """Where a tensor lives: always the CPU here.  Others can be named, but nothing can be put there."""

    __module__ = "retrograd"
    __slots__ = ("index", "type")

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:  # noqa: A002
        if isinstance(type, int):
            raise RuntimeError(
                "Cannot access accelerator device when none is available: retrograd computes on the CPU only"
            )
        kind, colon, number = str(type).partition(":")
        if kind not in DEVICE_TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(DEVICE_TYPES)} device type at start of device string: {kind}"
            )
        if colon and (not number.isdecimal() or str(int(number)) != number):
            raise RuntimeError(f"Invalid device string: '{type}'")
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
        """New tensors are made on this device: there is one."""
        check_present(self)
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""


CPU: Final = device("cpu")
_WITHOUT_SUPPORT: Final = ("cuda", "xpu", "mtia")
"""Devices of which PyTorch's build for CPUs says that it was compiled without them."""


def check_present(wanted: Any) -> None:
    """Refuse a device where tensors are to be and cannot: each but the CPU (``meta`` is taken for it)."""
    kind = (wanted if isinstance(wanted, device) else device(wanted)).type
    if kind in ("cpu", "meta"):
        return
    why = "retrograd computes on the CPU only; use device='cpu'"
    if kind in _WITHOUT_SUPPORT:
        raise AssertionError(f"Torch not compiled with {kind.upper()} enabled: {why}")
    raise RuntimeError(f"PyTorch is not linked with support for {kind} devices: {why}")
