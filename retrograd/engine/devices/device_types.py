"""Device types: their numbers in profilers, and the default type of checkpointing."""

from __future__ import annotations

import enum

DeviceType = enum.IntEnum(
    "DeviceType",
    "CPU CUDA MKLDNN OPENGL OPENCL IDEEP HIP FPGA MAIA XLA Vulkan Metal XPU MPS Meta HPU VE Lazy IPU MTIA PrivateUse1",
    start=0,
    module="retrograd._C._autograd",
)
DeviceType.__str__ = enum.Enum.__str__  # type: ignore[method-assign]


class DefaultDeviceType:
    """The kind of device whose random state a checkpoint keeps; only the CPU's is kept here."""

    __module__ = "retrograd.utils.checkpoint"

    _default_device_type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the kind for checkpoints without tensors of another device than the CPU."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """What was set."""
        return DefaultDeviceType._default_device_type
