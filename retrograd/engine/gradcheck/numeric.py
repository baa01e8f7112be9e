"""Numerical derivatives by central differences, independent of autograd.

Inputs are perturbed in their own memory (the function may have captured them), without raising version counters, and
restored afterwards, also if the function raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensors.tensor import Tensor
from .case import Case, is_differentiable
from .elements import Array, flat_copy, memory_of, positions_of


def numerical_jacobian(case: Case, position: int) -> list[Array | None]:
    """Jacobians of all outputs with respect to one input, rows = input elements, columns = output elements.

    ``None`` stands for outputs of types without derivatives. For a complex input (and real outputs) an entry is the
    conjugate Wirtinger derivative: d/d(real part) + i * d/d(imaginary part).
    """
    target, evaluate = case.perturbed(position)
    return jacobian_of_target(evaluate, target, case.outputs, case.options.eps)


def jacobian_of_target(
    evaluate: Callable[[], tuple[Any, ...]], target: Tensor, outputs: tuple[Any, ...], eps: float
) -> list[Array | None]:
    """As :func:`numerical_jacobian`, for any tensor that ``evaluate`` depends on."""
    memory = memory_of(target)
    rows = []
    for index in np.ndindex(memory.shape):

        def evaluate_near(step: complex, index: tuple[int, ...] = index) -> list[Tensor | None]:
            return _evaluate_with(evaluate, memory, index, memory[index] + step)

        where = f"on index {index} by {eps}"
        rows.append(_differences(evaluate_near, eps, is_complex=target.is_complex(), where=where))
    blocks = [_stack_rows(rows, number, output) for number, output in enumerate(outputs)]
    return [block if block is None else _among_all(target, block) for block in blocks]


def _among_all(target: Tensor, block: Array) -> Array:
    """Rows of the elements in memory as rows of all elements: a sparse tensor's others cannot be perturbed."""
    if len(block) == target.numel():
        return block
    rows = np.zeros((target.numel(), block.shape[1]), block.dtype)
    rows[positions_of(target)] = block
    return rows


def numerical_direction(case: Case, position: int, direction: Array | tuple[Array, Array]) -> list[Array | None]:
    """Derivatives of all outputs along a unit direction of one input, which is a pair for a complex input.

    The direction's real and imaginary parts give the real and imaginary parts of the result.
    """
    eps = case.options.eps
    target, evaluate = case.perturbed(position)
    memory, places = memory_of(target), positions_of(target)
    real, imaginary = direction if isinstance(direction, tuple) else (direction, direction)

    def evaluate_near(step: complex) -> list[Tensor | None]:
        vector = real if np.imag(step) == 0 else imaginary
        return _evaluate_with(evaluate, memory, ..., memory + step * vector[places].reshape(memory.shape))

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
