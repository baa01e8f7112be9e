"""Three functions of gradcheck that programs use although they were never public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.base import wrap
from ..tensors.tensor import Tensor
from ..warning import warn
from .case import as_tuple
from .elements import Array, one_hots
from .jacobians import Reverse, jacobian_of_target


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """Deprecated. Jacobians of the first output of ``fn(inputs)`` (inputs in one tuple) with respect to ``target``.

    The targets default to the inputs; one matrix for each that requires grad.
    """
    _warn_deprecated("get_numerical_jacobian")
    _check_grad_out("get_numerical_jacobian", grad_out)
    outputs = as_tuple(fn(inputs))
    _check_real("get_numerical_jacobian", outputs)
    targets = inputs if target is None else target
    return tuple(
        _tensors(jacobian_of_target(lambda: as_tuple(fn(inputs)), x, outputs, eps))[0]
        for x in as_tuple(targets)
        if isinstance(x, Tensor) and x.requires_grad
    )


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any],
    input_idx: int,
    inputs: Any,
    outputs: Any,
    eps: float,
    input: Tensor | None = None,
    is_forward_ad: bool = False,
) -> tuple[Tensor, ...]:
    """Jacobians of all outputs of ``fn(*inputs)`` with respect to one input, or to ``input`` in its stead."""
    target = inputs[input_idx] if input is None else input
    if not target.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    if not is_forward_ad and any(output.is_complex() for output in outputs):
        raise AssertionError("Expected the outputs to be real-valued, not complex.")
    return _tensors(jacobian_of_target(lambda: as_tuple(fn(*inputs)), target, as_tuple(outputs), eps))


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """Deprecated. Jacobians of ``output`` by backward passes; whether two agree, and whether sizes and types do."""
    _warn_deprecated("get_analytical_jacobian")
    _check_grad_out("get_analytical_jacobian", grad_out)
    _check_real("get_analytical_jacobian", (output,))
    varied = [x for x in as_tuple(inputs) if isinstance(x, Tensor) and x.requires_grad]
    first = Reverse(varied, output, one_hots(output.numel()))
    second = Reverse(varied, output, one_hots(output.numel()))
    return _tensors(first.jacobians), first.equals(second, nondet_tol), first.sizes_ok, first.types_ok


def _tensors(arrays: list[Array] | list[Array | None]) -> tuple[Tensor, ...]:
    return tuple(wrap(np.array(array)) for array in arrays if array is not None)


def _warn_deprecated(name: str) -> None:
    warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. Use `gradcheck` instead.",
        FutureWarning,
    )


def _check_grad_out(name: str, grad_out: float) -> None:
    if grad_out != 1.0:
        raise ValueError(
            f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0, but got {grad_out}."
        )


def _check_real(name: str, outputs: tuple[Any, ...]) -> None:
    if any(output.is_complex() for output in outputs):
        raise ValueError(
            f"Expected output to be non-complex. {name} no longer supports functions that return complex outputs."
        )
