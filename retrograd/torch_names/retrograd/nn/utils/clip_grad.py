"""Gradients of many parameters kept within bounds: one norm over all, or each entry."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import Any

from ...engine.methods import FUNCTIONS
from ...engine.observe import notify, observers
from ...engine.switches.modes import no_grad
from ...engine.table.public import NAMESPACES
from ...engine.tensors.tensor import Tensor

_norm = NAMESPACES["linalg"]["vector_norm"]


def _listed(parameters: Any) -> list[Any]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _gradients(parameters: Any) -> list[Any]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def _clipping(function: str, parameters: list[Any], bound: Any, given: Any) -> None:
    """Let whoever watches know, also whether what was given can be read once only."""
    if observers:
        notify("clipping", function, parameters, bound, isinstance(given, Iterator))


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """The norm of all tensors together, 0-d; ``RuntimeError`` for NaN or infinity with ``error_if_nonfinite``."""
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not given:
        return FUNCTIONS["tensor"](0.0)
    with no_grad():
        total = _norm(FUNCTIONS["stack"]([_norm(t, float(norm_type)) for t in given]), float(norm_type))
    if error_if_nonfinite and bool((total.isnan() | total.isinf()).item()):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot "
            "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scale the gradients in place by ``max_norm / total_norm`` where that is below 1."""
    with no_grad():
        scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for gradient in _gradients(parameters):
            gradient.mul_(scale)


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale the gradients in place so that their norm over all parameters is at most ``max_norm``; returns that norm.

    ``RuntimeError`` for a norm that is not finite with ``error_if_nonfinite``.
    """
    given = _listed(parameters)
    if not given and isinstance(parameters, GeneratorType):
        text = "`parameters` is an empty generator, no gradient clipping will occur."
        warnings.warn(text, stacklevel=3)
    _clipping("clip_grad_norm_", given, max_norm, parameters)
    total = get_total_norm(_gradients(given), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Bring every entry of the gradients into ``[-clip_value, clip_value]``, in place."""
    given = _listed(parameters)
    _clipping("clip_grad_value_", given, clip_value, parameters)
    with no_grad():
        for gradient in _gradients(given):
            gradient.clamp_(-float(clip_value), float(clip_value))


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:  # fmt: skip
    """The old name of ``clip_grad_norm_``."""
    text = "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`."
    warnings.warn(text, FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)
