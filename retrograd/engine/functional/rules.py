"""Shared code of ``functional``: tuples in and out, fresh inputs, vectors, strict mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..core.registry import F
from ..execution.backward import grad
from ..overriding.wrappers import called_publicly
from ..switches.transforming import refuse_method_in_transform
from ..tensors.tensor import Tensor

Tensors: TypeAlias = tuple[Tensor, ...]
MaybeTensors: TypeAlias = tuple[Tensor | None, ...]

FUNCTION_OUTPUTS = "outputs of the user-provided function"

# What a result that does not depend on the inputs means in strict mode, by what was being looked at.
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
