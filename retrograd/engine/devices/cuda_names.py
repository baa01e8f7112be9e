"""Names of ``torch.cuda`` beyond those that every device module has, as in a build without CUDA."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import nullcontext
from typing import Any, Final, NoReturn

from ..core.devices import device as Device  # noqa: N813 - a class
from .absent import is_available, nothing, refusal


class OutOfMemoryError(RuntimeError):
    """A device has no memory left; never raised here."""

    __module__ = "retrograd"


class AcceleratorError(RuntimeError):
    """A device reports an error; never raised here."""

    __module__ = "retrograd"


class device:  # noqa: N801 - torch's name
    """A block whose tensors are made on a GPU: it can be named, and not entered."""

    def __init__(self, device: Any) -> None:
        if isinstance(device, int):
            self.idx = device
            return
        named = Device(device) if isinstance(device, str) else device
        if named is not None and named.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        self.idx = -1 if named is None or named.index is None else named.index

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise RuntimeError(
                "PyTorch was compiled without CUDA support: everything is computed on the CPU; ask "
                "torch.cuda.is_available() first"
            )

    def __exit__(self, *exc: object) -> None:
        """Nothing was changed."""


def device_of(obj: Any) -> Any:
    """A block on the GPU that a tensor is on: it is on none."""
    return nullcontext()


def stream(stream: Any) -> Any:
    """A block on a stream: none is there, and of none nothing is changed."""
    return nullcontext() if stream is None else refusal("cuda", "stream")()


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Statistics of the memory of a GPU: none."""
    return OrderedDict()


def _no_list(*args: Any) -> list[Any]:
    """One entry for each GPU: none."""
    return []


def _no_text() -> str:
    """What CUDA was compiled with: nothing."""
    return ""


class _OldType(type):
    """The class of old types of tensors on a GPU: nothing is an instance."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")


_TYPES: Final = ("Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
_NEED_GPU: Final = (
    "CUDAGraph", "ExternalStream", "MemPool", "can_device_access_peer", "clock_rate", "cudart", "current_blas_handle",
    "get_allocator_backend", "get_per_process_memory_fraction", "get_rng_state", "get_sync_debug_mode", "graph",
    "graph_pool_handle", "initial_seed", "ipc_collect", "is_current_stream_capturing", "list_gpu_processes",
    "make_graphed_callables", "memory_snapshot", "memory_summary", "memory_usage", "power_draw",
    "set_per_process_memory_fraction", "set_sync_debug_mode", "temperature", "utilization",
)  # fmt: skip

NAMES: Final[dict[str, Any]] = {
    "AcceleratorError": AcceleratorError, "OutOfMemoryError": OutOfMemoryError, "StreamContext": stream,
    "default_generators": (), "device": device, "device_of": device_of, "has_half": True, "has_magma": False,
    "memory_stats": memory_stats, "stream": stream, "get_gencode_flags": _no_text,
    **dict.fromkeys(("get_arch_list", "get_rng_state_all"), _no_list),
    **dict.fromkeys(("is_bf16_supported", "is_tf32_supported"), is_available),
    **dict.fromkeys(("reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
                     "set_rng_state", "set_rng_state_all", "set_stream"), nothing),
    **{name: refusal("cuda", name) for name in _NEED_GPU},
    **{f"{name}Tensor": _OldType(f"{name}Tensor", (), {"__doc__": "No tensor is of this type."}) for name in _TYPES},
}  # fmt: skip
"""Name -> what it is where there is no GPU."""
