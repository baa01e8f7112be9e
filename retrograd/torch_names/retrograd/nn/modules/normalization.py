"""Normalization layers: over batches, instances, groups of channels, and trailing dimensions."""

from __future__ import annotations

from typing import Any, ClassVar

from ...engine.methods import FUNCTIONS
from ...engine.tensors.parameter import Parameter
from ...engine.warning import warn
from .. import functional, init
from ..module import Module
from .declared import Layer


class _Scaling(Module):
    """Weight and bias that start at 1 and 0, each or both absent."""

    weight: Any
    bias: Any

    def _scale(self, shape: tuple[int, ...], weight: bool, bias: bool, place: dict[str, Any]) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            self.register_parameter(name, Parameter(FUNCTIONS["empty"](shape, **place)) if wanted else None)

    def _start_scale(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class _NormBase(_Scaling):
    """Statistics of each channel over the batch, or of each instance, with running averages."""

    dimensions: ClassVar[tuple[int, ...]] = ()
    """How many dimensions an input may have."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._scale((num_features,), affine, affine and bias, place)
        tracked = track_running_stats
        self.register_buffer("running_mean", FUNCTIONS["zeros"](num_features, **place) if tracked else None)
        self.register_buffer("running_var", FUNCTIONS["ones"](num_features, **place) if tracked else None)
        self.register_buffer("num_batches_tracked", FUNCTIONS["tensor"](0) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Initial running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Averages, weight and bias as at the start."""
        self.reset_running_stats()
        self._start_scale()

    _version = 2

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *report: Any) -> None:
        """States from before batches were counted get a count."""
        counted = f"{prefix}num_batches_tracked"
        if local_metadata.get("version") in (None, 1) and self.track_running_stats and counted not in state_dict:
            have = self.num_batches_tracked
            state_dict[counted] = FUNCTIONS["tensor"](0) if have is None or have.device.type == "meta" else have
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *report)

    def _check_input_dim(self, input: Any) -> None:  # noqa: A002
        if input.ndim not in self.dimensions:
            wanted = " or ".join(f"{n}D" for n in self.dimensions)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """Normalization of each channel over the batch (Ioffe and Szegedy 2015)."""

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer; while training the averages take the batch in."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain mean of all batches
                factor = 1.0 / float(self.num_batches_tracked)
        averages = (self.running_mean, self.running_var)
        used = averages if not self.training or self.track_running_stats else (None, None)
        by_batch = self.training or averages == (None, None)
        return functional.batch_norm(input, *used, self.weight, self.bias, by_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalization of each channel of (N, C) or (N, C, L) over the batch."""

    __module__ = "retrograd.nn.modules.batchnorm"

    dimensions: ClassVar[tuple[int, ...]] = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalization of each channel of (N, C, H, W) over the batch."""

    __module__ = "retrograd.nn.modules.batchnorm"

    dimensions: ClassVar[tuple[int, ...]] = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalization of each channel of (N, C, D, H, W) over the batch."""

    __module__ = "retrograd.nn.modules.batchnorm"

    dimensions: ClassVar[tuple[int, ...]] = (5,)


class SyncBatchNorm(_BatchNorm):
    """Normalization over the batches of all processes: here there is one, as ``torch.nn.SyncBatchNorm`` sees it."""

    __module__ = "retrograd.nn.modules.batchnorm"

    def __init__(self, *args: Any, process_group: Any = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:  # noqa: A002
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """A network with each batch normalization in it replaced by one of this class with the same parameters."""
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats)
            made.process_group, made.training = process_group, module.training
            for table in ("_parameters", "_buffers"):
                made.__dict__[table].update(module.__dict__[table])
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_NormBase):
    """Normalization of each channel of each instance (Ulyanov et al. 2016)."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer to a batch or to one instance."""
        self._check_input_dim(input)
        single = input.ndim == min(self.dimensions)
        channels = input.shape[0 if single else 1]
        if channels != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={0 if single else 1} to match num_features ({self.num_features}), but "
                f"got: {channels}."
            )
        if channels != self.num_features:
            warn(
                f"input's size at dim={0 if single else 1} does not match num_features. You can silence this warning "
                "by not passing in num_features, which is not used because affine=False"
            )
        batch = input.unsqueeze(0) if single else input
        own = self.training or not self.track_running_stats
        out = functional.instance_norm(
            batch, self.running_mean, self.running_var, self.weight, self.bias, own,
            0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return out.squeeze(0) if single else out


class InstanceNorm1d(_InstanceNorm):
    """Normalization of each channel of each instance of (N, C, L) or (C, L)."""

    __module__ = "retrograd.nn.modules.instancenorm"

    dimensions: ClassVar[tuple[int, ...]] = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalization of each channel of each instance of (N, C, H, W) or (C, H, W)."""

    __module__ = "retrograd.nn.modules.instancenorm"

    dimensions: ClassVar[tuple[int, ...]] = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalization of each channel of each instance of (N, C, D, H, W) or (C, D, H, W)."""

    __module__ = "retrograd.nn.modules.instancenorm"

    dimensions: ClassVar[tuple[int, ...]] = (4, 5)


class GroupNorm(_Scaling):
    """Normalization of groups of channels of each instance (Wu and He 2018)."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._scale((num_channels,), affine, affine and bias, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        self._start_scale()

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        bias = self.bias is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={bias}"


class LayerNorm(_Scaling):
    """Normalization over the last dimensions (Ba et al. 2016)."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        place = {"device": device, "dtype": dtype}
        self._scale(self.normalized_shape, elementwise_affine, elementwise_affine and bias, place)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        self._start_scale()

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        bias = self.bias is not None
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={bias}"


class RMSNorm(_Scaling):
    """Division by the root mean square over the last dimensions (Zhang and Sennrich 2019)."""

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        empty = FUNCTIONS["empty"](self.normalized_shape, device=device, dtype=dtype)
        self.register_parameter("weight", Parameter(empty) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class CrossMapLRN2d(Module):
    """Division by the power of neighbouring channels, as older nets have it: the first channel stays in every sum."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        around = (self.size - 1) // 2
        squares = input.square()
        sums = functional.pad(squares, (0, 0, 0, 0, around, around)).unfold(1, 2 * around + 1, 1).sum(-1)
        left = FUNCTIONS["arange"](input.size(1)).view(-1, 1, 1) > around
        scale = (sums + squares[:, :1] * left).mul(self.alpha / self.size).add(self.k)
        return scale.pow(-self.beta) * input

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(Layer, call="local_response_norm"):
    """Division by the power of neighbouring channels (Krizhevsky et al. 2012)."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
