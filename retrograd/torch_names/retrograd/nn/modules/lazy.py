"""Layers that read the size of their input off the first input, and are ordinary layers from then on."""

from __future__ import annotations

from typing import Any, ClassVar

from ...engine.methods import FUNCTIONS
from ...engine.switches.modes import no_grad
from ..uninitialized import UninitializedBuffer, UninitializedParameter, is_lazy
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)


class LazyModuleMixin:
    """A module with parameters that have no shape before ``initialize_parameters`` has seen an input."""

    cls_to_become: ClassVar[Any] = None
    """The class from the first input on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hook = LazyModuleMixin._infer_parameters
        self._first_input: Any = self.register_forward_pre_hook(hook, with_kwargs=True)  # type: ignore[attr-defined]

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes; to be written by subclasses."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Whether some parameter or buffer of this module alone has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    @staticmethod
    def _infer_parameters(module: Any, args: Any, kwargs: Any = None) -> None:
        """The hook before the first ``forward``."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {type(module).__name__} has not been fully initialized")
        module._first_input.remove()
        del module._first_input
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _load_from_state_dict(self: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
        """What has a shape in the state gets it here first."""
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if is_lazy(value) and given is not None and not is_lazy(given):
                value.materialize(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)  # type: ignore[misc]

    def reset_parameters(self: Any) -> None:
        """Draw the parameters, once they have shapes."""
        if not self.has_uninitialized_params() and self._is_sized():
            super().reset_parameters()  # type: ignore[misc]


class LazyLinear(LazyModuleMixin, Linear):
    """``Linear`` whose ``in_features`` is the size of the first input's last dimension."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def _is_sized(self) -> bool:
        return self.in_features != 0

    def initialize_parameters(self: Any, input: Any) -> None:  # noqa: A002
        """Shapes from an input."""
        if not self.has_uninitialized_params():
            return
        with no_grad():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()


class _LazyConvolution(LazyModuleMixin):
    """Convolutions whose ``in_channels`` is that of the first input."""

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, out_channels, kernel_size, *args, **kwargs)

    def _start(self: Any, channels: Any, *settings: Any) -> None:
        *sizes, bias, padding_mode, place = settings
        super()._start((0, 0), *sizes, False, padding_mode, place)  # type: ignore[misc]
        self.out_channels = channels[1]
        self.weight = UninitializedParameter(**place)
        if bias:
            self.bias = UninitializedParameter(**place)

    def _is_sized(self: Any) -> bool:
        return self.in_channels != 0  # type: ignore[no-any-return]

    def initialize_parameters(self: Any, input: Any, *args: Any, **kwargs: Any) -> None:  # noqa: A002
        """Shapes from an input, with or without a batch."""
        if not self.has_uninitialized_params():
            return
        n = self.dimensions
        if input.ndim not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, but got input "
                f"of size: {input.shape}"
            )
        with no_grad():
            self.in_channels = input.shape[-n - 1]
            if self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            first, second = self.out_channels, self.in_channels
            first, second = (second, first) if self.transposed else (first, second)
            self.weight.materialize((first, second // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()


class _LazyNorm(LazyModuleMixin):
    """Norms whose ``num_features`` is the number of channels of the first input."""

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False)
        place = {"device": device, "dtype": dtype}
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(**place)
            if bias:
                self.bias = UninitializedParameter(**place)
        if track_running_stats:
            self.running_mean, self.running_var = UninitializedBuffer(**place), UninitializedBuffer(**place)
            self.num_batches_tracked = FUNCTIONS["tensor"](0)

    def _is_sized(self: Any) -> bool:
        return self.num_features != 0  # type: ignore[no-any-return]

    def initialize_parameters(self: Any, input: Any) -> None:  # noqa: A002
        """Shapes from an input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for value in (self.weight, self.bias, self.running_mean, self.running_var):
            if value is not None:
                value.materialize((self.num_features,))
        self.reset_parameters()


class LazyConv1d(_LazyConvolution, Conv1d):
    """``Conv1d`` that takes its number of channels from the first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """``Conv2d`` that takes its number of channels from the first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """``Conv3d`` that takes its number of channels from the first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvolution, ConvTranspose1d):
    """``ConvTranspose1d`` that takes its number of channels from the first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvolution, ConvTranspose2d):
    """``ConvTranspose2d`` that takes its number of channels from the first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvolution, ConvTranspose3d):
    """``ConvTranspose3d`` that takes its number of channels from the first input."""

    cls_to_become = ConvTranspose3d


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """``BatchNorm1d`` that takes its number of channels from the first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """``BatchNorm2d`` that takes its number of channels from the first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """``BatchNorm3d`` that takes its number of channels from the first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """``InstanceNorm1d`` that takes its number of channels from the first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """``InstanceNorm2d`` that takes its number of channels from the first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """``InstanceNorm3d`` that takes its number of channels from the first input."""

    cls_to_become = InstanceNorm3d
