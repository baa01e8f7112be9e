"""``torch.nn.parallel``: on one device a replicated module is the module itself."""

from __future__ import annotations

from typing import Any

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
    """Refused: processes are connected by ``retrograd.distributed``."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any) -> None:
        raise ValueError(
            "Default process group has not been initialized: retrograd has no process groups; "
            "use retrograd.distributed.DataParallel under mpirun or torchrun, or leave it out in a single process"
        )


__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
