"""Jacobians, by the backward pass and by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..execution.backward import grad
from ..forward_mode.forward_ad import dual_level, make_dual, unpack_dual
from ..tensors.tensor import Tensor
from .case import Case, GradcheckError, as_tuple, is_differentiable
from .elements import Array, flat_copy, memory_of, one_hots, positions_of, tensor_like

# Analytical derivatives as the engine computes them, by backward passes or by forward mode, as plain arrays.


def reverse_jacobian(case: Case, output: Tensor) -> list[Array]:
    """Jacobians of one output with respect to the varied inputs, rows = input elements, columns = output elements.

    Everything is computed twice; ``GradcheckError`` when the two differ or a gradient has a wrong size or type.
    """
    return _reverse_twice(case, output, lambda: one_hots(output.numel()))


def reverse_direction(case: Case, output: Tensor, v: Array) -> list[Array]:
    """Products of ``v`` with the Jacobians of one output, flat, one for each varied input; checked likewise."""
    return [jacobian[:, 0] for jacobian in _reverse_twice(case, output, lambda: [v])]


def _reverse_twice(case: Case, output: Tensor, vectors: Callable[[], Iterable[Array]]) -> list[Array]:
    """The products of vectors with the Jacobian by backward, run twice to see that it gives the same both times."""
    passes = Reverse(case.varied, output, vectors())
    again = Reverse(case.varied, output, vectors())
    options = case.options
    if options.check_grad_dtypes and not passes.types_ok:
        raise GradcheckError("Gradient has dtype mismatch: it should have the dtype of its input.")
    if not passes.sizes_ok:
        raise GradcheckError("Analytical gradient has incorrect size: it should have the size of its input.")
    if not passes.equals(again, options.nondet_tol):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            f"different values. The tolerance for nondeterminism was {options.nondet_tol}; if the operation is "
            "nondeterministic on purpose, pass a larger `nondet_tol`."
        )
    return passes.jacobians


class Reverse:
    """Backward passes from one output, one per vector, gathered as one matrix per input: a vector a column."""

    def __init__(self, inputs: list[Tensor], output: Tensor, vectors: Iterable[Array]) -> None:
        self.types_ok = True
        self.sizes_ok = True
        columns: list[list[Array]] = [[] for _ in inputs]
        for vector in vectors:
            gradients = grad(output, inputs, tensor_like(vector, output), retain_graph=True, allow_unused=True)
            for x, gradient, column in zip(inputs, gradients, columns, strict=True):
                column.append(self._column(x, gradient))
        self.jacobians = [
            np.stack(column, axis=1) if column else np.zeros((x.numel(), 0))
            for x, column in zip(inputs, columns, strict=True)
        ]

    def equals(self, other: Reverse, tolerance: float) -> bool:
        """Whether no entry differs by more than the tolerance."""
        with np.errstate(invalid="ignore"):
            differences = [np.abs(a - b) for a, b in zip(self.jacobians, other.jacobians, strict=True)]
        return not any(difference.size and difference.max() > tolerance for difference in differences)

    def _column(self, x: Tensor, gradient: Tensor | None) -> Array:
        if gradient is None:
            return np.zeros(x.numel())
        if gradient.shape != x.shape:
            self.sizes_ok = False
            return np.zeros(x.numel())
        if gradient.dtype != x.dtype:
            self.types_ok = False
        return flat_copy(gradient)


def forward_jacobian(case: Case, position: int) -> list[Array | None]:
    """Jacobians of all outputs with respect to one input by forward mode; layout as ``numerical_jacobian``."""
    rows = [forward_direction(case, position, vector) for vector in one_hots(case.inputs[position].numel())]
    return [
        np.array([row[number] for row in rows]).reshape(len(rows), output.numel())
        if is_differentiable(output)
        else None
        for number, output in enumerate(case.outputs)
    ]


def forward_direction(case: Case, position: int, u: Array) -> list[Array | None]:
    """Derivatives of all outputs along a direction of one input, flat; ``None`` for types without derivatives."""
    directions: dict[int, Array | None] = {
        index: np.zeros(case.inputs[index].numel()) for index in case.varied_positions
    }
    directions[position] = u
    results: list[Array | None] = []
    for value, tangent in tangents_of(case, directions):
        mixed = tangent is not None and tangent.is_complex() != value.is_complex()
        if case.options.check_grad_dtypes and mixed:
            raise GradcheckError("Forward AD gradient has dtype mismatch: it should have the dtype of its output.")
        results.append(np.zeros(value.numel()) if tangent is None else flat_copy(tangent))
    missing = [not is_differentiable(output) for output in case.outputs]
    found = iter(results)
    return [None if skip else next(found) for skip in missing]


def tangents_of(case: Case, directions: dict[int, Array | None]) -> list[tuple[Tensor, Tensor | None]]:
    """One forward-mode call: value and tangent of each differentiable output.

    ``directions`` gives the tangents of inputs by position; ``None`` passes a plain detached tensor.
    """
    with dual_level():
        arguments = list(case.inputs)
        for index, direction in directions.items():
            primal = case.inputs[index].detach()
            arguments[index] = (
                primal if direction is None else make_dual(primal, tensor_like(direction, case.inputs[index]))
            )
        outputs = [output for output in as_tuple(case.func(*arguments)) if is_differentiable(output)]
        return [(parts.primal, parts.tangent) for parts in map(unpack_dual, outputs)]


# Numerical derivatives by central differences, independent of autograd.


def numerical_jacobian(case: Case, position: int) -> list[Array | None]:
    """Jacobians of all outputs with respect to one input, rows = input elements, columns = output elements.

    ``None`` marks outputs of types without derivatives. For a complex input (and real outputs) an entry is the
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
