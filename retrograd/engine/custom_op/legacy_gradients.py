"""Checks and orders the dictionary of gradients that the backward half of an old-style ``CustomOp`` returns."""

from __future__ import annotations

from typing import Any

from ..pytree import trees
from ..tensors.tensor import Tensor
from .legacy_base import Declared


def validate_grad_inputs_dict(grad_inputs: Any, custom_op: Declared, args_info: Any) -> None:
    """``RuntimeError`` unless there is exactly one fitting gradient per argument that is or may hold tensors."""

    def fail(what: str) -> None:
        location = custom_op._get_impl("backward").location
        raise RuntimeError(
            f"In the backward function defined for {custom_op} at {location} using the CustomOp API, {what}"
        )

    if not isinstance(grad_inputs, dict):
        fail(f"expected the output of the backward function to be a dict but got {type(grad_inputs)}")
    arguments = custom_op._schema.arguments
    expected = {a.name for a in arguments if a.type.is_tensor_like}
    if set(grad_inputs) != expected:
        fail(
            f"expected the returned grad_input dict to have keys {expected} but got {grad_inputs.keys()}. The backward "
            "function must return a gradient (can be None) for each arg to the CustomOp that may be a Tensor or "
            "Sequence[Tensor]. Args declared to be non-Tensor-like types should not appear in the grad_input dict"
        )
    for name, grad in grad_inputs.items():
        info = getattr(args_info, name)
        problem = _list_problem(name, grad, info) if isinstance(info, list) else _single_problem(name, grad, info)
        if problem:
            fail(problem)


def _list_problem(name: str, grad: Any, info: list[type]) -> str:
    """What is wrong with the gradient of a list argument, or nothing."""
    if not isinstance(grad, list | tuple):
        return (
            f"for input '{name}' expected the grad_input dict to hold a list of gradients but got object of type "
            f"{type(grad)}."
        )
    if len(grad) != len(info):
        count = len(info)
        return (
            f"for input '{name}' expected the grad_input dict to hold a list of {count} gradients but got {len(grad)}"
        )
    for index, (item, kind) in enumerate(zip(grad, info, strict=True)):
        if item is None:
            continue
        if not isinstance(item, Tensor):
            return (
                f"for input '{name}' expected the grad_input dict to hold a list of None or Tensor gradients but got "
                f"object of {type(item)} at index {index}"
            )
        if not issubclass(kind, Tensor):
            return (
                f"for input '{name}', got a Tensor as the gradient for the {index}-th value but expected None because "
                f"the {index}-th value was not a Tensor (it was type {kind}"
            )
    return ""


def _single_problem(name: str, grad: Any, info: type) -> str:
    """What is wrong with the gradient of a single argument, or nothing."""
    if grad is None:
        return ""
    if not isinstance(grad, Tensor):
        return (
            f"got object of type {type(grad)} as the gradient for input '{name}', but expected the gradient to be "
            "either None or a Tensor"
        )
    if not issubclass(info, Tensor):
        return (
            f"got a Tensor as the gradient for input '{name}' but expected None as the gradient because input '{name}' "
            f"was not a Tensor (it was type {info})."
        )
    return ""


def grad_inputs_dict_to_flat_tuple(grad_inputs: dict[str, Any], args_info: Any) -> tuple[Any, ...]:
    """One gradient per flattened argument in the order of the schema; ``None`` for what is not in the dictionary."""
    flat: list[Any] = []
    for name, info in args_info._asdict().items():
        leaves = trees.tree_leaves(info)
        flat.extend(trees.tree_leaves(grad_inputs[name]) if grad_inputs.get(name) is not None else [None] * len(leaves))
    return tuple(flat)
