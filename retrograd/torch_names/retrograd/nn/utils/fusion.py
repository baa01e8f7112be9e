"""``torch.nn.utils.fusion``: a layer and the batch normalization after it as one layer, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from ...engine.methods import FUNCTIONS
from ...engine.tensors.parameter import Parameter


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that computes both; neither may be in training."""
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that computes both; neither may be in training."""
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _fused(linear, bn, fuse_linear_bn_weights)


def _fused(layer: Any, bn: Any, weights: Any, *more: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    made = copy.deepcopy(layer)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Batch normalization without running averages cannot be fused")
    averages = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    made.weight, made.bias = weights(made.weight, made.bias, *averages, *more)
    return made


def fuse_conv_bn_weights(
    conv_w: Any, conv_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any, transpose: bool = False
) -> tuple[Any, Any]:
    """Weight and bias of the fused convolution."""
    shape = [1, -1] if transpose else [-1, 1]
    return _scaled(conv_w, conv_b, (bn_rm, bn_rv, bn_eps, bn_w, bn_b), shape + [1] * (conv_w.dim() - 2))


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Any, Any]:
    """Weight and bias of the fused linear layer."""
    return _scaled(linear_w, linear_b, (bn_rm, bn_rv, bn_eps, bn_w, bn_b), [-1, 1])


def _scaled(weight: Any, bias: Any, averages: tuple[Any, ...], shape: list[int]) -> tuple[Any, Any]:
    """What the normalization does to a weight whose channels lie along a shape, and to a bias."""
    mean, var, eps, gain, shift = averages
    bias = FUNCTIONS["zeros_like"](mean) if bias is None else bias
    gain = FUNCTIONS["ones_like"](mean) if gain is None else gain
    shift = FUNCTIONS["zeros_like"](mean) if shift is None else shift
    scale = gain * FUNCTIONS["rsqrt"](var + eps)
    fused = (weight * scale.reshape(shape)).to(dtype=weight.dtype)
    return (
        Parameter(fused.detach(), weight.requires_grad),
        Parameter(((bias - mean) * scale + shift).detach(), bias.requires_grad),
    )


__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]
