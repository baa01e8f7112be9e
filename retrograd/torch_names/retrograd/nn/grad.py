"""``torch.nn.grad``: the gradients of convolutions, from shapes and the gradient of the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.overriding.aten_backward import convolution_backward


def _several(value: Any, dims: int) -> tuple[int, ...]:
    return (value,) * dims if isinstance(value, int) else tuple(value)


def _gradients(dims: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The gradients of input and of weight of the convolution over ``dims`` dimensions."""

    def backward(grad_output: Any, operands: Any, how: Any, groups: int, mask: Any) -> Any:
        places = [_several(value, dims) for value in how]
        return convolution_backward(grad_output, *operands, None, *places, False, (0,), groups, mask)

    def of_input(
        input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1,
    ) -> Any:  # fmt: skip
        like = grad_output.new_empty(1).expand(input_size)
        how = (stride, padding, dilation)
        return backward(grad_output, (like, weight), how, groups, (True, False, False))[0]

    def of_weight(
        input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0,  # noqa: A002
        dilation: Any = 1, groups: int = 1,
    ) -> Any:  # fmt: skip
        like = grad_output.new_empty(1).expand(weight_size)
        how = (stride, padding, dilation)
        return backward(grad_output, (input, like), how, groups, (False, True, False))[1]

    of_input.__doc__ = f"The gradient of an input of ``input_size`` of ``conv{dims}d``."
    of_weight.__doc__ = f"The gradient of a weight of ``weight_size`` of ``conv{dims}d``."
    of_input.__name__, of_weight.__name__ = f"conv{dims}d_input", f"conv{dims}d_weight"
    return of_input, of_weight


conv1d_input, conv1d_weight = _gradients(1)
conv2d_input, conv2d_weight = _gradients(2)
conv3d_input, conv3d_weight = _gradients(3)

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]
