"""Analytical derivatives as the engine computes them, by backward passes or by forward mode, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ..execution.backward import grad
from ..forward_mode.forward_ad import dual_level, make_dual, unpack_dual
from ..tensors.tensor import Tensor
from .case import Case, GradcheckError, as_tuple, is_differentiable
from .elements import Array, flat_copy, one_hots, tensor_like


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
