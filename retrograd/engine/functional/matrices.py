"""Jacobians and Hessians, whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..core.base import wrap
from ..core.registry import F
from ..execution.backward import grad
from ..execution.batched import map_batch
from ..forward_mode.forward_ad import dual_level, make_dual, unpack_dual
from ..overriding.wrappers import called_publicly
from ..switches.modes import enable_grad
from ..switches.transforming import refuse_method_in_transform
from ..tensors.tensor import Tensor

# Shared code of `functional`: tuples in and out, fresh inputs, vectors, strict mode.

Tensors: TypeAlias = tuple[Tensor, ...]
MaybeTensors: TypeAlias = tuple[Tensor | None, ...]

FUNCTION_OUTPUTS = "outputs of the user-provided function"

# What a result that does not depend on the inputs means in strict mode, by what was being computed.
_NO_GRAD_IN_STRICT_MODE = {
    "outputs": "Output {index} of the user-provided function does not require gradients. In strict mode the outputs "
    "must be computed in a differentiable manner from the input.",
    "gradients": "The gradient with respect to input {index} is independent of the inputs of the user-provided "
    "function. This is not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    "input {index} is independent of the input. This is not allowed in strict mode. Make sure that the function is "
    "twice differentiable and that its jacobian depends on the inputs (a linear function's does not).",
}

# What a missing gradient means in strict mode, by the pass that missed it.
_UNUSED_IN_STRICT_MODE = {
    "back": "The output of the user-provided function is independent of input {index}. "
    "This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {index} in the grad_outputs when "
    "using the double backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {index}. "
    "This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {index} in the "
    "grad_jacobian. This is not allowed in strict mode, as it prevents the double backward trick.",
}


def as_tuple(value: Any, what: str, caller: str) -> tuple[bool, Tensors]:
    """Whether ``value`` was a tuple, and it as a tuple of tensors; ``TypeError`` for anything else."""
    was_tuple = isinstance(value, tuple)
    entries = value if was_tuple else (value,)
    for index, entry in enumerate(entries):
        if not isinstance(entry, Tensor):
            found = f"the value at index {index}" if was_tuple else f"the given {what}"
            raise TypeError(
                f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but {found} has type "
                f"{type(entry)}."
            )
    return was_tuple, entries


def unwrap(values: Sequence[Any], was_tuple: bool) -> Any:
    """Undo :func:`as_tuple`: the single value where no tuple was given."""
    return tuple(values) if was_tuple else values[0]


def fresh(tensors: Tensors, *, create_graph: bool, require_grad: bool) -> Tensors:
    """New tensor objects on the same data.

    The function is called with these, so that the tensors themselves, where the function also captures them from
    outside, count as constants.
    """
    return tuple(
        tensor.view_as(tensor) if create_graph and tensor.requires_grad else _as_leaf(tensor, require_grad)
        for tensor in tensors
    )


def _as_leaf(tensor: Tensor, require_grad: bool) -> Tensor:
    refuse_method_in_transform("requires_grad_", " (or perhaps using torch.autograd.functional.* APIs)")
    leaf: Tensor = tensor.detach().requires_grad_(require_grad)
    return leaf


def finish(tensors: Tensors, create_graph: bool) -> Tensors:
    """The tensors as the caller gets them: without history unless it was asked for."""
    return tensors if create_graph else tuple(tensor.detach() for tensor in tensors)


def check_vector(v: Tensors, like: Tensors, was_tuple: bool) -> None:
    """Refuse a vector that has not the number and the sizes of the tensors it is multiplied with."""
    if len(v) != len(like):
        if was_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise RuntimeError(f"The given v should contain a single Tensor, but got {len(v)}.")
    for index, (entry, wanted) in enumerate(zip(v, like, strict=True)):
        if entry.shape != wanted.shape:
            place = f"Entry {index} in " if was_tuple else ""
            raise RuntimeError(f"{place}v has invalid size: should be {wanted.shape} but got {entry.shape}.")


def check_depends(tensors: MaybeTensors, what: str, strict: bool) -> None:
    """In strict mode refuse tensors that are missing or do not require grad; ``what`` chooses the words."""
    if not strict:
        return
    for index, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(_UNUSED_IN_STRICT_MODE["back"].format(index=index))
        if not tensor.requires_grad:
            raise RuntimeError(_NO_GRAD_IN_STRICT_MODE[what].format(index=index))


def fill_zeros(grads: MaybeTensors, like: Tensors, stage: str, *, create_graph: bool, strict: bool) -> Tensors:
    """Zeros in place of missing gradients; in strict mode an error in the words of ``stage`` instead."""
    filled = []
    for index, (entry, reference) in enumerate(zip(grads, like, strict=True)):
        if entry is None:
            if strict:
                raise RuntimeError(_UNUSED_IN_STRICT_MODE[stage].format(index=index))
            entry = F.zeros_like(reference)
        elif strict and create_graph and not entry.requires_grad:
            order = "hessian" if stage.startswith("double") else "jacobian"
            raise RuntimeError(
                f"The {order} of the user-provided function is independent of input {index}. This is not allowed in "
                "strict mode when create_graph=True."
            )
        filled.append(entry)
    return tuple(filled)


_grad = called_publicly("torch.autograd", "grad", grad)


def grad_where_possible(
    outputs: MaybeTensors,
    inputs: Tensors,
    grad_outputs: MaybeTensors | None = None,
    *,
    create_graph: bool = False,
    retain_graph: bool | None = None,
    is_grads_batched: bool = False,
) -> MaybeTensors:
    """``grad`` that leaves out outputs that are missing or require no grad, and accepts unused inputs."""
    vectors = grad_outputs if grad_outputs is not None else (None,) * len(outputs)
    roots = [(out, v) for out, v in zip(outputs, vectors, strict=True) if out is not None and out.requires_grad]
    if not roots:
        return (None,) * len(inputs)
    found: MaybeTensors = _grad(
        tuple(out for out, _ in roots),
        inputs,
        tuple(v for _, v in roots),
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
        is_grads_batched=is_grads_batched,
    )
    return found


# Jacobian and Hessian in full: row by row, in one batch, or column by column in forward mode.

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
