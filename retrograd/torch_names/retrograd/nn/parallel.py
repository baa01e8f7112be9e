"""``torch.nn.parallel``: on one device, in one process, a replicated module is the module itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..engine.devices.process_group import is_initialized
from .module import Module


class DataParallel(Module):
    """Calls ``module``: PyTorch shares batches out among GPUs, and without any it does just this."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Apply the module."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: Any = None
) -> Any:
    """Call ``module`` as ``DataParallel`` does."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """Calls ``module``: the mean of gradients over the one process of a group is the gradient.

    ``ValueError`` without a group; several processes train with ``retrograd.distributed.DataParallel``.
    """

    def __init__(
        self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool = True, init_sync: bool = True, process_group: Any = None,
        find_unused_parameters: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if not is_initialized():
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group: a group "
                "has one process here, several use retrograd.distributed.DataParallel under mpirun or torchrun"
            )
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameters that require a "
                "gradient."
            )
        self.module, self.dim = module, dim
        self.device_ids, self.process_group = device_ids, process_group
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Apply the module."""
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block whose gradients are not reduced before the next backward outside of it."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before


# PyTorch has them in files of these names; that of the function ``data_parallel`` is found by importing from it.
distributed = sys.modules[__name__]
sys.modules |= {f"{__name__}.{name}": distributed for name in ("data_parallel", "distributed")}

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
