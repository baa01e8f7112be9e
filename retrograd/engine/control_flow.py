"""Control flow that depends on tensors: ``cond`` and ``while_loop``; only the branch that runs is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .core.base import TensorBase
from .pytree.trees import tree_leaves


def _truth(name: str, value: Any) -> bool:
    """The condition of a branch or loop: a ``bool`` or a tensor of one element."""
    if isinstance(value, TensorBase):
        if value.numel() != 1:
            raise RuntimeError(f"Expected {name} to be bool or single-element tensor, but got {value}.")
        return bool(value.item())
    if not isinstance(value, (bool, int, float)):
        raise RuntimeError(f"Expected {name} to be bool or tensor, but got {value}.")
    return bool(value)


def _check_operands(what: str, operands: Any, kinds: tuple[type, ...]) -> None:
    fit = isinstance(operands, (tuple, list)) and all(isinstance(leaf, kinds) for leaf in tree_leaves(operands))
    if not fit:
        raise RuntimeError(
            f"Expect {what} to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but "
            f"got {operands}."
        )


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """``true_fn(*operands)`` where ``pred`` holds, else ``false_fn(*operands)``; the graph has the branch taken."""
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    _check_operands("operands", operands, (TensorBase, int))
    return (true_fn if _truth("pred", pred) else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]) -> Any:
    """Replace ``carried_inputs`` by ``body_fn(*carried_inputs)`` while ``cond_fn(*carried_inputs)`` is true."""
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    _check_operands("carried_inputs", carried_inputs, (TensorBase, int, float, bool))
    carried = tuple(carried_inputs)
    while _truth("what cond_fn returns", cond_fn(*carried)):
        made = body_fn(*carried)
        found = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(found) != len(carried):
            raise RuntimeError(
                "Expected body_fn_output and carried_inputs to have same number of outputs but got "
                f"{len(found)} and {len(carried)}."
            )
        carried = found
    return carried
