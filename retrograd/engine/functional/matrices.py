"""Jacobian and Hessian in full: row by row, in one batch, or column by column in forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.base import wrap
from ..core.registry import F
from ..execution.batched import map_batch
from ..forward_mode.forward_ad import dual_level, make_dual, unpack_dual
from ..overriding.wrappers import called_publicly
from ..switches.modes import enable_grad
from ..tensors.tensor import Tensor
from .rules import FUNCTION_OUTPUTS, Tensors, as_tuple, check_depends, finish, fresh, grad_where_possible, unwrap

_STRATEGIES = ("forward-mode", "reverse-mode")
_stack = called_publicly("torch", "stack", lambda tensors: F.stack(tensors))


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``: entry ``[i][j]`` has the shape of output ``i`` followed by that of input ``j``.

    The nesting is dropped for a single output or input. Zeros stand where an output does not depend on an input;
    with ``strict`` that is a ``RuntimeError``. ``vectorize`` asks for all rows in one batched call. The strategy
    ``"forward-mode"``, which needs ``vectorize``, works column by column and suits functions with more outputs
    than inputs.
    """
    if strategy not in _STRATEGIES:
        raise AssertionError(
            f'Expected strategy to be either "forward-mode" or "reverse-mode", not {strategy!r}. Take "forward-mode" '
            "if the function has more outputs than inputs."
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(_refusal("create_graph=True", 'strategy="forward-mode"'))
        if strict:
            raise RuntimeError(_refusal("strict=True", 'strategy="forward-mode"'))
        return _forward_jacobian(func, inputs, vectorize)
    with enable_grad():
        inputs_in_tuple, points = as_tuple(inputs, "inputs", "jacobian")
        points = fresh(points, create_graph=create_graph, require_grad=True)
        outputs_in_tuple, outputs = as_tuple(func(*points), FUNCTION_OUTPUTS, "jacobian")
        check_depends(outputs, "outputs", strict)
        if vectorize:
            if strict:
                raise RuntimeError(_refusal("strict=True", "vectorize=True"))
            blocks = _blocks_in_one_batch(outputs, points, create_graph)
        else:
            blocks = [
                _blocks_row_by_row(index, outputs[index], points, create_graph=create_graph, strict=strict)
                for index in range(len(outputs))
            ]
    return unwrap([unwrap(finish(row, create_graph), inputs_in_tuple) for row in blocks], outputs_in_tuple)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with a single output element, as the Jacobian of its Jacobian.

    Entry ``[i][j]`` has the shape of input ``i`` followed by that of input ``j``; the nesting is dropped for a
    single input. Options as in :func:`jacobian`; the strategy is that of the outer Jacobian.
    """
    in_tuple, points = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in _STRATEGIES:
        raise AssertionError(
            f'Expected strategy to be either "forward-mode" or "reverse-mode", not {outer_jacobian_strategy!r}.'
        )

    def gradient(*args: Tensor) -> Tensors:
        if outer_jacobian_strategy == "forward-mode":
            # The inner Jacobian detaches what requires no grad, and the tangent would be lost with it.
            args = tuple(arg.requires_grad_(True) for arg in args)
        result: Tensors = jacobian(lambda *xs: _single_element(func(*xs), strict), args, create_graph=True)
        check_depends(result, "jacobian", strict)
        return result

    rows = jacobian(
        gradient,
        points,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return unwrap([unwrap(row, in_tuple) for row in rows], in_tuple)


def _construct_standard_basis_for(tensors: Tensors, tensor_numels: tuple[int, ...]) -> Tensors:
    """The identity matrix of all elements together, cut into one block of columns per tensor, in its dtype."""
    if len(tensors) != len(tensor_numels):
        raise AssertionError(
            "Expected tensors and tensor_numels to have the same length, but got "
            f"{len(tensors)} and {len(tensor_numels)}"
        )
    if not tensors:
        raise AssertionError("Expected at least one tensor")
    total = sum(tensor_numels)
    starts = np.cumsum((0, *tensor_numels)).tolist()
    return tuple(
        wrap(np.eye(total, numel, k=-start)).to(tensor.dtype)
        for tensor, numel, start in zip(tensors, tensor_numels, starts, strict=False)
    )


def _blocks_row_by_row(index: int, output: Tensor, inputs: Tensors, *, create_graph: bool, strict: bool) -> Tensors:
    columns: list[list[Tensor]] = [[] for _ in inputs]
    for element in range(output.numel()):
        root = output.reshape(-1)[element]
        row = grad_where_possible((root,), inputs, retain_graph=True, create_graph=create_graph)
        for position, entry in enumerate(row):
            if strict:
                _check_row_entry(index, position, entry, create_graph)
            columns[position].append(F.zeros_like(inputs[position]) if entry is None else entry)
    return tuple(
        _stack(column).view((*output.shape, *point.shape)) for column, point in zip(columns, inputs, strict=True)
    )


def _check_row_entry(output: int, position: int, entry: Tensor | None, create_graph: bool) -> None:
    if entry is None:
        raise RuntimeError(
            f"Output {output} of the user-provided function is independent of input {position}. "
            "This is not allowed in strict mode."
        )
    if create_graph and not entry.requires_grad:
        raise RuntimeError(
            f"The jacobian of the user-provided function is independent of input {position}. "
            "This is not allowed in strict mode when create_graph=True."
        )


def _blocks_in_one_batch(outputs: Tensors, inputs: Tensors, create_graph: bool) -> list[Tensors]:
    """The Jacobian of each output with respect to each input, shape ``(*output, *input)``, by one batched backward."""
    numels = tuple(output.numel() for output in outputs)
    rows = grad_where_possible(
        tuple(output.reshape(-1) for output in outputs),
        inputs,
        _construct_standard_basis_for(outputs, numels),
        create_graph=create_graph,
        is_grads_batched=True,
    )
    by_input = []
    for point, block in zip(inputs, rows, strict=True):
        whole = point.new_zeros((sum(numels), *point.shape)) if block is None else block
        by_input.append(_split(whole, numels))
    return [
        tuple(parts[index].view((*output.shape, *point.shape)) for parts, point in zip(by_input, inputs, strict=True))
        for index, output in enumerate(outputs)
    ]


def _split(block: Tensor, numels: tuple[int, ...]) -> list[Tensor]:
    starts = np.cumsum((0, *numels)).tolist()
    return [block[start : start + numel] for start, numel in zip(starts, numels, strict=False)]


def _refusal(option: str, other: str) -> str:
    return (
        f"torch.autograd.functional.jacobian: `{option}` and `{other}` are not supported together (yet). "
        "Leave out one of the two."
    )


def _forward_jacobian(func: Callable[..., Any], inputs: Any, vectorize: bool) -> Any:
    """The Jacobian column by column in forward mode, one column for each input element."""
    inputs_in_tuple, points = as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )
    numels = tuple(point.numel() for point in points)
    outputs_in_tuple = False
    shapes: list[tuple[int, ...]] = []

    def column(*tangents: Tensor) -> Tensors:
        nonlocal outputs_in_tuple, shapes
        with dual_level():
            duals = [make_dual(x, t.view_as(x)) for x, t in zip(points, tangents, strict=True)]
            outputs_in_tuple, outputs = as_tuple(func(*duals), FUNCTION_OUTPUTS, "jacobian")
            parts = [unpack_dual(output) for output in outputs]
        shapes = [tuple(part.primal.shape) for part in parts]
        return tuple(F.zeros_like(part.primal) if part.tangent is None else part.tangent for part in parts)

    columns: Sequence[Tensor | None]
    if sum(numels):
        columns = map_batch(column, _construct_standard_basis_for(points, numels))
    else:
        columns = [result.new_zeros(0, *result.shape) for result in column(*points)]
    rows = [_row(block, shape, points) for block, shape in zip(columns, shapes, strict=True)]
    return unwrap([unwrap(row, inputs_in_tuple) for row in rows], outputs_in_tuple)


def _row(columns: Tensor | None, shape: tuple[int, ...], points: Tensors) -> list[Tensor]:
    """The Jacobian of one output, of this shape, with respect to each input, from its columns one behind the other."""
    assert columns is not None, "no result is left out"
    blocks = _split(columns, tuple(point.numel() for point in points))
    # The batch dimension counts input elements and belongs behind the output's dimensions.
    return [
        block.permute(*range(1, block.dim()), 0).reshape((*shape, *point.shape))
        for block, point in zip(blocks, points, strict=True)
    ]


def _single_element(output: Any, strict: bool) -> Tensor:
    in_tuple, tensors = as_tuple(output, FUNCTION_OUTPUTS, "hessian")
    check_depends(tensors, "outputs", strict)
    if in_tuple:
        raise RuntimeError("The function given to hessian should return a single Tensor")
    if tensors[0].numel() != 1:
        raise RuntimeError(
            "The Tensor returned by the function given to hessian should contain a single element, but it has "
            f"{tensors[0].numel()}."
        )
    single: Tensor = tensors[0].squeeze()
    return single
