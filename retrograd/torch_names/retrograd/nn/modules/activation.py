"""Activation layers."""

from __future__ import annotations

from typing import Any

from ...engine.methods import FUNCTIONS
from ...engine.tensors.parameter import Parameter
from .. import functional
from ..module import Module
from .declared import Layer


class Threshold(Layer, call="threshold"):
    """``x`` where above the threshold, else ``value``."""

    threshold: float
    value: float
    inplace: bool = False


class ReLU(Layer, call="relu"):
    """``max(x, 0)``."""

    inplace: bool = False


class RReLU(Layer, call="rrelu", training=True):
    """Leaky ReLU with a slope drawn from [lower, upper] while training, their mean else."""

    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False


class Hardtanh(Layer, call="hardtanh"):
    """``x`` cut off at both ends."""

    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False

    def prepare(self, options: dict[str, Any]) -> None:
        """Ends in order."""
        super().prepare(options)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class ReLU6(Layer, call="relu6"):
    """``min(max(x, 0), 6)``."""

    inplace: bool = False


class Sigmoid(Layer, call="sigmoid"):
    """``1 / (1 + exp(-x))``."""


class Hardsigmoid(Layer, call="hardsigmoid"):
    """``min(max(x + 3, 0), 6) / 6``."""

    inplace: bool = False


class Tanh(Layer, call="tanh"):
    """The hyperbolic tangent."""


class SiLU(Layer, call="silu"):
    """``x * sigmoid(x)``."""

    inplace: bool = False


class Mish(Layer, call="mish"):
    """``x * tanh(softplus(x))``."""

    inplace: bool = False


class Hardswish(Layer, call="hardswish"):
    """``x * hardsigmoid(x)``."""

    inplace: bool = False


class ELU(Layer, call="elu"):
    """``x`` where positive, else ``alpha * (exp(x) - 1)``."""

    alpha: float = 1.0
    inplace: bool = False


class CELU(Layer, call="celu"):
    """ELU with a continuous derivative for every ``alpha``."""

    alpha: float = 1.0
    inplace: bool = False


class SELU(Layer, call="selu"):
    """ELU scaled so that values keep mean 0 and variance 1 (Klambauer et al. 2017)."""

    inplace: bool = False


class GLU(Layer, call="glu"):
    """The first half times the sigmoid of the second half."""

    dim: int = -1


class GELU(Layer, call="gelu"):
    """``x`` times the normal distribution function of ``x``."""

    approximate: str = "none"


class Hardshrink(Layer, call="hardshrink"):
    """``x`` outside [-lambd, lambd], else 0."""

    lambd: float = 0.5

    def extra_repr(self) -> str:
        """The bound."""
        return f"{self.lambd}"


class Softshrink(Layer, call="softshrink"):
    """``x`` moved towards 0 by ``lambd``."""

    lambd: float = 0.5

    def extra_repr(self) -> str:
        """The bound."""
        return f"{self.lambd}"


class Tanhshrink(Layer, call="tanhshrink"):
    """``x - tanh(x)``."""


class LeakyReLU(Layer, call="leaky_relu"):
    """``x`` where positive, else ``negative_slope * x``."""

    negative_slope: float = 0.01
    inplace: bool = False


class LogSigmoid(Layer, call="logsigmoid"):
    """``log(sigmoid(x))``."""


class Softplus(Layer, call="softplus"):
    """``log(1 + exp(beta * x)) / beta``."""

    beta: float = 1.0
    threshold: float = 20.0


class Softsign(Layer, call="softsign"):
    """``x / (1 + |x|)``."""


class Softmin(Layer, call="softmin"):
    """Softmax of ``-x``."""

    dim: int | None = None


class Softmax(Layer, call="softmax"):
    """``exp(x)`` divided by its sum along ``dim``."""

    dim: int | None = None


class LogSoftmax(Layer, call="log_softmax"):
    """The logarithm of softmax."""

    dim: int | None = None


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return functional.softmax(input, -3)


class PReLU(Module):
    """Leaky ReLU whose slope is a parameter, one for all or one for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(FUNCTIONS["empty"](num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Every slope as given at the start."""
        self.weight.data.fill_(self.init)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many slopes."""
        return f"num_parameters={self.num_parameters}"
