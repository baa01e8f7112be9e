"""``Case``: the function, inputs, outputs and options of one gradient check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..core.layouts import strided
from ..tensors.tensor import Tensor
from .elements import with_all_places


class GradcheckError(RuntimeError):
    """Raised by ``gradcheck`` and ``gradgradcheck`` when a derivative is wrong."""

    __module__ = "retrograd.autograd.gradcheck"


@dataclass(frozen=True, slots=True)
class Options:
    """The keyword arguments of ``gradcheck``, with its defaults."""

    eps: float = 1e-6
    atol: float = 1e-5
    rtol: float = 1e-3
    nondet_tol: float = 0.0
    check_undefined_grad: bool = True
    check_grad_dtypes: bool = False
    check_batched_grad: bool = False
    check_batched_forward_grad: bool = False
    check_forward_ad: bool = False
    check_backward_ad: bool = True
    fast_mode: bool = False
    masked: bool | None = None

    def check_consistent(self) -> None:
        """Refuse (``AssertionError``) options that ask for a check and switch off what it needs."""
        if not (self.check_forward_ad or self.check_backward_ad):
            raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
        if self.check_batched_grad and not self.check_backward_ad:
            raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
        if self.check_batched_forward_grad and not self.check_forward_ad:
            raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")


@dataclass(frozen=True, slots=True)
class Case:
    """One function at one point.

    ``part`` is "real" or "imaginary" where only that part of the complex outputs (of the complex inputs when
    ``forward``) is looked at; ``complex_positions`` then holds the numbers of those outputs (inputs).
    """

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    options: Options
    forward: bool = False
    part: str = ""
    complex_positions: tuple[int, ...] = ()

    @classmethod
    def call(cls, func: Callable[..., Any], inputs: tuple[Any, ...], options: Options) -> Case:
        """The case of ``func`` at ``inputs``, with the outputs of one call."""
        outputs = as_tuple(func(*inputs))
        if any(isinstance(output, Tensor) and output.layout is not strided for output in outputs):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output "
                "of fn for gradcheck."
            )
        return cls(func, inputs, outputs, options)

    def evaluate(self) -> tuple[Any, ...]:
        """The outputs of one more call."""
        return as_tuple(self.func(*self.inputs))

    def perturbed(self, position: int) -> tuple[Tensor, Callable[[], tuple[Any, ...]]]:
        """The input whose elements are moved for differences, and what gives the outputs then.

        That is a sparse one with all places named, since any may be asked for, unless the check is ``masked``.
        """
        target = self.inputs[position]
        if not target.is_sparse or self.options.masked:
            return target, self.evaluate
        full = with_all_places(target)
        inputs = (*self.inputs[:position], full, *self.inputs[position + 1 :])
        return full, lambda: as_tuple(self.func(*inputs))

    def in_forward_mode(self) -> Case:
        """The same case, to be checked by forward-mode differentiation."""
        return replace(self, forward=True)

    @property
    def varied_positions(self) -> list[int]:
        """Places of the inputs that derivatives are taken with respect to."""
        return [index for index, value in enumerate(self.inputs) if isinstance(value, Tensor) and value.requires_grad]

    @property
    def varied(self) -> list[Tensor]:
        """The inputs that derivatives are taken with respect to."""
        return [self.inputs[index] for index in self.varied_positions]

    @property
    def checked_positions(self) -> list[int]:
        """Places of the outputs that are differentiated: those that require grad."""
        return [index for index, value in enumerate(self.outputs) if value.requires_grad]

    @property
    def checked(self) -> list[Tensor]:
        """The outputs that are differentiated: those that require grad."""
        return [self.outputs[index] for index in self.checked_positions]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A tuple or list as tuple, anything else as tuple of one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def is_differentiable(value: Any) -> bool:
    """Whether a value is a tensor of a type that has derivatives."""
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())
