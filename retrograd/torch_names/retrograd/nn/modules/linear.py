"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

from ...engine.methods import FUNCTIONS
from ...engine.tensors.parameter import Parameter
from .. import functional, init
from ..module import Module


class Identity(Module):
    """The input itself; arguments are taken and ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return input


class Linear(Module):
    """``x @ weight.T + bias`` on the last dimension; weight ``(out_features, in_features)``.

    Weight and bias start uniform in ``±1/sqrt(in_features)``, as in torch.
    """

    weight: Any
    bias: Any

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        place = {"device": device, "dtype": dtype}
        self.weight = Parameter(FUNCTIONS["empty"](out_features, in_features, **place))
        self.register_parameter("bias", Parameter(FUNCTIONS["empty"](out_features, **place)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes and bias."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The output layer of ``MultiheadAttention``, by the name that PyTorch prints."""


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each output k."""

    weight: Any
    bias: Any

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        place = {"device": device, "dtype": dtype}
        self.weight = Parameter(FUNCTIONS["empty"](out_features, in1_features, in2_features, **place))
        self.register_parameter("bias", Parameter(FUNCTIONS["empty"](out_features, **place)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        """Apply the layer."""
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes and bias."""
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}"
        return f"{sizes}, out_features={self.out_features}, bias={self.bias is not None}"
