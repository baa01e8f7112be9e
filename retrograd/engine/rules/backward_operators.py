"""Rules as operators: where PyTorch computes a gradient by one operator, a second-order graph has one node for it.

A rule made of differentiable operators is enough to derive it: the node of the gradient applies the rule once more,
recorded, and runs backward through that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, unwrap
from typing import Any

import numpy as np

from ..aliasing.views import gradient_edge
from ..core.base import LAZY, TensorBase, wrap
from ..core.registry import F
from ..execution.execute import run_within
from ..execution.sweep import sweep_within
from ..forward_mode.forward_ad import carries_tangent
from ..switches import state, watchers
from ..switches.state import STATE, set_grad_enabled_here
from ..table.facts import Rule
from ..table.op import OpDef, camel_case, parameters_of
from ..table.rows import function


def backward_operator(
    name: str, rule: Rule, tensors: str = "self", *, constant: str = "", node: str = "", derived: Rule | None = None
) -> Rule:
    """The rule of an operand, recorded as one node where it is applied to tensors.

    ``tensors`` are those of its arguments that the gradient is derived by, beside the incoming one; ``constant`` the
    other tensors among them; ``derived`` the joint rule of the node, where that takes less than to apply the rule once
    more.
    """
    names = ("grad_output", *parameters_of(unwrap(rule))[0][1:])
    wanted = ("grad_output", *tensors.split())
    row = function(
        f"_{name}_back", _Forward(rule, names), node=node or f"{camel_case(name)}BackwardBackward0",
        tensors=f"grad_output {tensors} {constant}", constant=constant,
        joint=derived or _Gradients(rule, names, wanted),
    )  # fmt: skip

    def applied(*values: Any) -> Any:
        if values[0].__class__ is np.ndarray or not isinstance(values[0], TensorBase) or _is_looked_into(row, values):
            return rule(*values)
        return row.call(*values)

    return functools.update_wrapper(applied, unwrap(rule))


def joint_backward_operator(
    name: str, rule: Rule, tensors: str, *, constant: str = "", derived: Rule | None = None
) -> Rule:
    """The same for a joint rule, of three operands or fewer; ``derived`` is the joint rule of the operator itself,
    where that takes less than to apply the rule once more."""
    names = ("grad_output", "output_mask", *parameters_of(unwrap(rule))[0][2:])
    wanted = ("grad_output", *tensors.split())
    row = function(
        f"_{name}_back", _ForwardOfSeveral(rule, names), node=f"{camel_case(name)}BackwardBackward0", outputs=3,
        undefined=True, tensors=f"grad_output {tensors} {constant}", constant=constant,
        joint=derived or _GradientsOfSeveral(rule, names, wanted),
    )  # fmt: skip

    def applied(g: Any, needs: tuple[bool, ...], *values: Any) -> Any:
        if g.__class__ is np.ndarray or not isinstance(g, TensorBase) or _is_looked_into(row, (g, needs, *values)):
            return rule(g, needs, *values)
        return [t if need else None for t, need in zip(row.call(g, needs, *values), needs, strict=False)]

    return functools.update_wrapper(applied, unwrap(rule))


def _is_looked_into(row: OpDef, values: tuple[Any, ...]) -> bool:
    """Whether what the rule is made of is to be seen, by forward mode, batches, or classes and modes that dispatch."""
    if watchers.DISPATCHING:
        return True
    if not state.MODE:
        return False
    tensors = [values[i] for i in row.tensor_positions if isinstance(values[i], TensorBase)]
    return bool(STATE.batches or STATE.dispatch_modes or carries_tangent(tensors))


def _signed(names: tuple[str, ...]) -> Signature:
    return Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names])


class _Forward:
    """The rule applied to arrays; its first argument has PyTorch's name."""

    def __init__(self, rule: Rule, names: tuple[str, ...]) -> None:
        self.rule, self.__signature__ = rule, _signed(names)

    def __call__(self, *values: Any) -> Any:
        return self.rule(*values)


class _ForwardOfSeveral(_Forward):
    """A joint rule applied to arrays; gradients that nobody asks for are empty."""

    def __call__(self, g: Any, needs: tuple[bool, ...], *values: Any) -> Any:
        made = self.rule(g, needs, *values)
        return tuple([np.zeros(0, g.dtype) if x is None else x for x in (*made, None, None)[:3]])


class _Gradients:
    """The joint rule of a backward operator."""

    def __init__(self, rule: Rule, names: tuple[str, ...], wanted: tuple[str, ...]) -> None:
        self.rule, self.places = rule, [names.index(n) for n in names if n in wanted]
        self.__signature__ = _signed(("g", "needs", *names))

    def __call__(self, g: Any, needs: tuple[bool, ...], *values: Any) -> tuple[Any, ...]:
        places = [i for i, need in zip(self.places, needs, strict=True) if need]
        found = iter(self._found(g, values, places))
        return tuple([next(found) if need else None for need in needs])

    def _found(self, g: Any, values: tuple[Any, ...], places: list[int]) -> list[Any]:
        return gradients_of(lambda *own: [self.rule(*own)], values, places, [g])


class _GradientsOfSeveral(_Gradients):
    """The same of a joint rule, whose outputs may have no gradient."""

    def _found(self, g: Any, values: tuple[Any, ...], places: list[int]) -> list[Any]:
        grad_output, mask, *rest = values
        given = tuple([need and into is not None for need, into in zip(mask, g, strict=False)])
        return gradients_of(self.rule, (grad_output, given, *rest), places, g)


def gradients_of(
    rule: Callable[..., Sequence[Any]], values: tuple[Any, ...], places: list[int], grads: Sequence[Any]
) -> list[Any]:
    """The gradients of the values at ``places``, where ``grads`` are those of what the rule makes of all of them.

    They are tensors, recorded where gradients are, if ``grads`` are, otherwise arrays.
    """
    arrays = not any(isinstance(g, TensorBase) for g in grads)
    recorded = STATE.grad_enabled and not arrays
    own = [_own(v, recorded) if i in places else wrap(v) if isinstance(v, np.ndarray) else v
           for i, v in enumerate(values)]  # fmt: skip
    before = STATE.grad_enabled, STATE.in_handler, STATE.saved_hooks
    try:
        set_grad_enabled_here(True)
        STATE.in_handler = True  # how one operator computes, which nobody hears of
        if arrays:
            STATE.saved_hooks = []
        pairs = [(gradient_edge(x), g) for x, g in zip(rule(*own), grads, strict=False)
                 if x is not None and g is not None]  # fmt: skip
        pairs = [(edge, g) for edge, g in pairs if edge is not None]
        return _run_backward(pairs, [gradient_edge(own[i]) for i in places], arrays, recorded)
    finally:
        set_grad_enabled_here(before[0])
        STATE.in_handler, STATE.saved_hooks = before[1:]


def _run_backward(pairs: list[tuple[Any, Any]], inputs: list[Any], arrays: bool, recorded: bool) -> list[Any]:
    """The gradients of the inputs of a graph, by its outputs' edges and their gradients."""
    roots, grads = [edge for edge, _ in pairs], [g for _, g in pairs]
    if not pairs:
        return [None] * len(inputs)
    return sweep_within(roots, grads, inputs) if arrays else run_within(roots, grads, inputs, recorded)


def _own(value: Any, recorded: bool) -> Any:
    """The same values as a tensor of which only the rule makes use, recorded or as a leaf."""
    if recorded:
        return F._view(value, value._sig.shape)
    leaf = wrap(value._array if isinstance(value, TensorBase) else np.asarray(value), LAZY)
    leaf.need_meta().requires_grad = True
    return leaf
