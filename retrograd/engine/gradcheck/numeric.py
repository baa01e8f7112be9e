"""Numerical derivatives by central differences: the side of gradcheck that knows nothing of gradients.

Inputs are perturbed in their own memory (the function may have captured them), below every version counter, and put
back afterwards, also when the function raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensors.tensor import Tensor
from .case import Array, Case, array_of, flat_copy, is_differentiable


def numerical_jacobian(case: Case, position: int) -> list[Array | None]:
    """Jacobians of all outputs with respect to one input, rows = input elements, columns = output elements.

    ``None`` stands for outputs of types without derivatives. For a complex input (and real outputs) an entry is the
    conjugate Wirtinger derivative: d/d(real part) + i * d/d(imaginary part).
    """
    return jacobian_of_target(case.evaluate, case.inputs[position], case.outputs, case.options.eps)


def jacobian_of_target(
    evaluate: Callable[[], tuple[Any, ...]], target: Tensor, outputs: tuple[Any, ...], eps: float
) -> list[Array | None]:
    """As :func:`numerical_jacobian`, for any tensor that ``evaluate`` depends on."""
    memory = array_of(target.data)
    rows = []
    for index in np.ndindex(memory.shape):

        def evaluate_near(step: complex, index: tuple[int, ...] = index) -> list[Tensor | None]:
            return _evaluate_with(evaluate, memory, index, memory[index] + step)

        where = f"on index {index} by {eps}"
        rows.append(_differences(evaluate_near, eps, is_complex=target.is_complex(), where=where))
    return [_stack_rows(rows, number, output) for number, output in enumerate(outputs)]


def numerical_direction(case: Case, position: int, direction: Array | tuple[Array, Array]) -> list[Array | None]:
    """Derivatives of all outputs along a unit direction of one input, which is a pair for a complex input.

    The direction's real and imaginary parts give the real and imaginary parts of the result.
    """
    target, eps = case.inputs[position], case.options.eps
    memory = array_of(target.data)
    real, imaginary = direction if isinstance(direction, tuple) else (direction, direction)

    def evaluate_near(step: complex) -> list[Tensor | None]:
        vector = real if np.imag(step) == 0 else imaginary
        return _evaluate_with(case.evaluate, memory, ..., memory + step * vector.reshape(memory.shape))

    return _differences(evaluate_near, eps, is_complex=target.is_complex(), where=f"by {eps}")


def _differences(
    evaluate_near: Callable[[complex], list[Tensor | None]], eps: float, *, is_complex: bool, where: str
) -> list[Array | None]:
    real = _central_difference(evaluate_near, eps, where)
    if not is_complex:
        return real
    imaginary = _central_difference(evaluate_near, eps * 1j, where)
    return [None if a is None or b is None else a + b * 1j for a, b in zip(real, imaginary, strict=True)]


def _central_difference(
    evaluate_near: Callable[[complex], list[Tensor | None]], step: complex, where: str
) -> list[Array | None]:
    below, above = evaluate_near(-step), evaluate_near(step)
    results: list[Array | None] = []
    for a, b in zip(below, above, strict=True):
        if a is None or b is None:
            results.append(None)
            continue
        _check_alike(a, b, where)
        with np.errstate(invalid="ignore"):
            results.append((flat_copy(b) - flat_copy(a)) / (2 * abs(step)))
    return results


def _evaluate_with(
    evaluate: Callable[[], tuple[Any, ...]], memory: Array, index: Any, value: Any
) -> list[Tensor | None]:
    original = np.array(memory[index])
    try:
        memory[index] = value
        # Cloned, since a function may return its input, whose memory is about to be restored.
        return [output.clone() if is_differentiable(output) else None for output in evaluate()]
    finally:
        memory[index] = original


def _check_alike(below: Tensor, above: Tensor, where: str) -> None:
    for what, a, b in (("shape", below.shape, above.shape), ("dtype", below.dtype, above.dtype)):
        if a != b:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}, but got: "
                f"{what}s {a} and {b}."
            )


def _stack_rows(rows: list[list[Array | None]], number: int, output: Any) -> Array | None:
    if not is_differentiable(output):
        return None
    if not rows:
        return np.zeros((0, output.numel()))
    return np.stack([np.asarray(row[number]) for row in rows])
