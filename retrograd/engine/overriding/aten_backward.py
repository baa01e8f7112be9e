"""Backward operators of ``ops.aten``: each is the reverse rule of its row, so it is differentiable in turn."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature, unwrap
from typing import Any, Final

from ..core.registry import OPS, F
from .schema_forms import REDUCTIONS

BACKWARD: Final[dict[str, Callable[..., Any]]] = {}
"""Operator name -> function."""
_SAMPLINGS: Final = ("bilinear", "nearest", "bicubic")
_EDGES: Final = ("zeros", "border", "reflection")


def _offer(function: Callable[..., Any]) -> Callable[..., Any]:
    BACKWARD[function.__name__] = function
    return function


def _of_row(name: str, row: str, optional: tuple[Any, ...] = (), loss: bool = False) -> None:
    """An operator that takes the gradient, then what its rule names, in that order."""

    def backward(grad_output: Any, *args: Any, **kwargs: Any) -> Any:
        op = OPS[row]
        rule: Any = op.rules["self"]
        taken = signature(rule)
        names = [name for name in op.params if name in taken.parameters]
        given = {**dict(zip(names[len(names) - len(optional) :], optional, strict=True)), **kwargs}
        given.update(zip(names, args, strict=False))
        if loss:
            given["reduction"] = REDUCTIONS[given["reduction"]]
        return rule(*taken.bind(grad_output, **given).args)

    backward.__name__ = name
    backward.__doc__ = f"The gradient of the operand of ``{row.strip('_')}``."
    _offer(backward)


for _name in ("silu", "mish", "hardsigmoid", "hardswish", "glu", "softplus"):
    _of_row(f"{_name}_backward", _name)
_of_row("logit_backward", "logit", (None,))
_of_row("soft_margin_loss_backward", "_soft_margin_loss", loss=True)
_of_row("mse_loss_backward", "_mse_loss", loss=True)
_of_row("huber_loss_backward", "_huber_loss", loss=True)
_of_row("smooth_l1_loss_backward", "_smooth_l1_loss", loss=True)
_of_row("binary_cross_entropy_backward", "_binary_cross_entropy", (None, 1), loss=True)


# -- activations


@_offer
def gelu_backward(grad_output: Any, self: Any, *, approximate: str = "none") -> Any:
    """The gradient of the operand of ``gelu``."""
    return OPS["gelu"].rules["self"](grad_output, self, approximate, None)


@_offer
def log_sigmoid_backward(grad_output: Any, self: Any, buffer: Any) -> Any:
    """The gradient of the operand of ``logsigmoid``; the buffer is not needed."""
    return OPS["logsigmoid"].rules["self"](grad_output, self)


@_offer
def elu_backward(
    grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Any
) -> Any:  # fmt: skip
    """The gradient of the operand of ``elu``, from the operand or from the result."""
    row = OPS["elu"]
    rule: Any = row.in_place_rules["self"] if is_result else row.rules["self"]
    return rule(grad_output, self_or_result, alpha, scale, input_scale)


@_offer
def rrelu_with_noise_backward(
    grad_output: Any, self: Any, noise: Any, lower: Any, upper: Any, training: bool, self_is_result: bool
) -> Any:  # fmt: skip
    """The gradient of the operand of ``rrelu``; outside of training the slope is the middle of both bounds."""
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return F._leaky_relu_backward(grad_output, self, (lower + upper) / 2)


@_offer
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    """The gradient where ``mask`` let values pass."""
    return grad_output * mask * scale


# -- layers


def _masked(row: str, output_mask: Any, grad: Any, *operands: Any) -> Any:
    """All gradients of a row that ``output_mask`` asks for, None for the others."""
    joint: Any = OPS[row].joint
    found = joint(grad, tuple(output_mask), *operands)
    return tuple(made if wanted else None for made, wanted in zip(found, output_mask, strict=True))


@_offer
def convolution_backward(
    grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,  # noqa: A002
    transposed: bool, output_padding: Any, groups: int, output_mask: Any,
) -> Any:  # fmt: skip
    """The gradients of input, weight and bias of ``convolution``."""
    dims = input.ndim - 2
    how = [tuple(given) * (dims if len(given) == 1 else 1) for given in (stride, padding, dilation, output_padding)]
    return _masked(
        "convolution", output_mask, grad_output, input, weight, *how[:3], transposed, groups, how[3], bias_sizes
    )


def _eps_of(rstd: Any, variance: Any) -> Any:
    """What was added to the variance, so that the derivative by way of the statistics is known."""
    return (rstd.pow(-2) - variance).detach()


@_offer
def native_layer_norm_backward(
    grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any,  # noqa: A002
    output_mask: Any,
) -> Any:  # fmt: skip
    """The gradients of input, weight and bias of ``layer_norm``."""
    axes = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    eps = _eps_of(rstd, F._var(input, axes, 0, True))
    rule: Any = unwrap(OPS["_layer_norm"].joint)  # where ``eps`` may be a tensor
    return tuple(rule(grad_out, tuple(output_mask), input, tuple(normalized_shape), mean, rstd, weight, bias, eps))


@_offer
def native_group_norm_backward(
    grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int, group: int,  # noqa: A002, N803
    output_mask: Any,
) -> Any:  # fmt: skip
    """The gradients of input, weight and bias of ``group_norm``."""
    rows = F.reshape(input, (N, group, C // group * HxW))
    eps = _eps_of(rstd.reshape(N, group, 1), F._var(rows, (2,), 0, True))
    return _masked("_group_norm", output_mask, grad_out, input, weight, group, eps, mean, rstd)


@_offer
def native_batch_norm_backward(
    grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any,  # noqa: A002
    save_invstd: Any, train: bool, eps: float, output_mask: Any,
) -> Any:  # fmt: skip
    """The gradients of input, weight and bias of ``batch_norm``; in evaluation the running statistics are constants."""
    stats = weight, running_mean, running_var, save_mean, save_invstd, train, eps
    return _masked("_batch_norm", output_mask, grad_out, input, *stats)


@_offer
def batch_norm_backward(
    grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any,  # noqa: A002
    save_var: Any, update: bool, eps: float, output_mask: Any, reserve: Any,
) -> Any:  # fmt: skip
    """As ``native_batch_norm_backward``."""
    return native_batch_norm_backward(
        grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask
    )


@_offer
def embedding_dense_backward(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:  # fmt: skip
    """The gradient of the table of ``embedding``."""
    return F._embedding_back(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq)


@_offer
def masked_scatter_backward(grad_output: Any, mask: Any, sizes: Any) -> Any:
    """The gradient of the source of ``masked_scatter``."""
    return OPS["masked_scatter"].rules["source"](grad_output, mask, tuple(sizes))


def _grid_sampler(dims: int) -> None:
    def backward(
        grad_output: Any, input: Any, grid: Any, interpolation_mode: int, padding_mode: int,  # noqa: A002
        align_corners: bool, output_mask: Any,
    ) -> Any:  # fmt: skip
        how = (_SAMPLINGS[interpolation_mode], _EDGES[padding_mode], align_corners)
        return _masked(f"_grid_sampler_{dims}d", output_mask, grad_output, input, grid, how)

    backward.__name__ = f"grid_sampler_{dims}d_backward"
    backward.__doc__ = f"The gradients of input and grid of ``grid_sample`` in {dims} dimensions."
    _offer(backward)


def _max_pool(dims: int) -> None:
    def pool(
        grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
        indices: Any,
    ) -> Any:  # fmt: skip
        return getattr(F, f"_MaxPool{dims}DWithIndices_backward")(grad_output, indices, self, dims)

    def adaptive(grad_output: Any, self: Any, indices: Any) -> Any:
        return getattr(F, f"_AdaptiveMaxPool{dims}D_backward")(grad_output, indices, self, dims)

    for function, name in ((pool, f"max_pool{dims}d_with_indices"), (adaptive, f"adaptive_max_pool{dims}d")):
        function.__name__ = f"{name}_backward"
        function.__doc__ = f"The gradient of the operand of ``{name}``."
        _offer(function)


for _dims in (2, 3):
    _grid_sampler(_dims)
    _max_pool(_dims)


# -- losses


def _nll_loss(name: str) -> None:
    def backward(
        grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
    ) -> Any:  # fmt: skip
        rows = float(total_weight) if total_weight.numel() else 0.0
        row = F._nll_backward if self.ndim < 4 else F._nll_backward_2d
        how = (REDUCTIONS[reduction], ignore_index, rows)
        return row(grad_output, self, target, weight, *how)

    backward.__name__ = name
    backward.__doc__ = "The gradient of the logarithms of ``nll_loss``."
    _offer(backward)


_nll_loss("nll_loss_backward")
_nll_loss("nll_loss2d_backward")
