"""Forward-mode rules: how operators propagate tangents.

A row's forward rule follows from its kind: linear rows apply themselves, multilinear rows once per argument,
element-wise rows apply their reverse rule to the tangent, and every other row is differentiated by transposing
its reverse rule (which is linear in ``g``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..aliasing.views import gradient_edge
from ..core.base import LAZY, TensorBase, wrap
from ..core.registry import F
from ..execution.execute import run_backward
from ..nodes.saved_display import parts, read
from ..switches.state import STATE, set_grad_enabled_here
from ..table.op import OpDef
from .forward_ad import keep_for_output, keep_tangent, stripped, tangent_of

# The transpose of a linear map that is given as differentiable code.


def transpose_of(linear: Callable[[list[Any]], list[Any]], like: list[Any], vectors: list[Any]) -> list[Any]:
    """Apply the transpose of ``linear`` to ``vectors``.

    ``linear`` maps tensors shaped as ``like`` to tensors; the result is shaped as ``like`` and is differentiable
    in whatever ``linear`` closes over when grad mode is on.
    """
    create_graph = STATE.grad_enabled
    forward = STATE.forward_grad_enabled
    dummies = [_leaf(t) for t in like]
    try:
        STATE.forward_grad_enabled = False
        set_grad_enabled_here(True)
        images = linear(dummies)
        pairs = [
            (gradient_edge(image), v)
            for image, v in zip(images, vectors, strict=True)
            if image is not None and v is not None
        ]
        pairs = [(edge, v) for edge, v in pairs if edge is not None]
        edges = [gradient_edge(d) for d in dummies]
        found: list[Any] = [None] * len(like)
        if pairs:
            found = run_backward(
                [e for e, _ in pairs], [v for _, v in pairs], keep_graph=True, create_graph=create_graph,
                inputs=edges, capture=True,
            )  # fmt: skip
        for dummy in dummies:  # formulas that ask one for its size recorded it: nothing depends on its value
            dummy.need_meta().requires_grad = False
    finally:
        set_grad_enabled_here(create_graph)
        STATE.forward_grad_enabled = forward
    return found


def _leaf(t: Any) -> Any:
    leaf = wrap(np.zeros(t._sig.shape, t._sig.numpy), LAZY)
    leaf.need_meta().requires_grad = True
    return leaf


def output_tangents(op: OpDef, args: tuple[Any, ...], results: list[Any], aux: tuple[Any, ...]) -> list[Any]:
    """Tangents of the results of a call whose operands carry tangents (``None`` where there is none)."""
    primal, tangents = _split(op, args)
    if op.kind == "nondifferentiable" or not any(r._sig.differentiable for r in results):
        return [None] * len(results)
    if op.jvp is not None:
        made = op.jvp(primal, tangents, tuple(stripped(r) for r in results))
        return list(made) if isinstance(made, (tuple, list)) else [made]
    if op.kind == "linear":
        return _apply_linear(op, primal, tangents)
    if op.kind == "multilinear":
        return _apply_multilinear(op, primal, tangents)
    values = _rule_values(op, primal, results, aux)
    if op.kind == "elementwise":
        return [_apply_elementwise(op, tangents, values, results[0])]
    return _transpose_reverse(op, tangents, values, results)


def _split(op: OpDef, args: tuple[Any, ...]) -> tuple[list[Any], dict[int, Any]]:
    """Arguments without tangents, and the tangents by position (lists for list arguments)."""
    primal = list(args)
    tangents: dict[int, Any] = {}
    for i in op.tensor_positions:
        value = args[i]
        if i in op.list_positions and value is not None:
            found = [tangent_of(v) if isinstance(v, TensorBase) else None for v in value]
            if any(t is not None for t in found):
                tangents[i] = found
            primal[i] = [stripped(v) for v in value]
        elif isinstance(value, TensorBase):
            t = tangent_of(value)
            if t is not None and i in op.diff_positions:
                tangents[i] = t
            primal[i] = stripped(value)
    return primal, tangents


def _zeros_for(value: Any) -> Any:
    return wrap(np.zeros(value._sig.shape, value._sig.numpy)) if isinstance(value, TensorBase) else 0.0


def _as_results(op: OpDef, out: Any) -> list[Any]:
    return [out] if op.outputs == 1 else list(out)


def _apply_linear(op: OpDef, primal: list[Any], tangents: dict[int, Any]) -> list[Any]:
    args = list(primal)
    for i in op.diff_positions:
        if i in op.list_positions:
            given = tangents.get(i) or [None] * len(primal[i])
            args[i] = [_zeros_for(p) if t is None else t for p, t in zip(primal[i], given, strict=True)]
        elif primal[i] is not None:
            args[i] = tangents[i] if i in tangents else _zeros_for(primal[i])
    return _as_results(op, op(*args))


def _apply_multilinear(op: OpDef, primal: list[Any], tangents: dict[int, Any]) -> list[Any]:
    """The sum, over the arguments with a tangent, of the operator with the tangent in the argument's place."""
    total: list[Any] | None = None
    for i, tangent in tangents.items():
        if i in op.list_positions:
            parts = [(j, t) for j, t in enumerate(tangent) if t is not None]
            terms = [op(*primal[:i], [*primal[i][:j], t, *primal[i][j + 1 :]], *primal[i + 1 :]) for j, t in parts]
        else:
            terms = [op(*primal[:i], tangent, *primal[i + 1 :])]
        for term in terms:
            out = _as_results(op, term)
            total = out if total is None else [a + b for a, b in zip(total, out, strict=True)]
    assert total is not None
    return total


def _rule_values(op: OpDef, primal: list[Any], results: list[Any], aux: tuple[Any, ...]) -> list[Any]:
    """What the reverse rules ask for, as tensors without tangents."""
    values = []
    for name in op.saved_names:
        if name == "result":
            values.append(stripped(results[0]) if op.outputs == 1 else tuple(stripped(r) for r in results))
        elif name in op.results:
            values.append(stripped(results[op.results.index(name)]))
        elif name in op.aux:
            value = aux[op.aux.index(name)]
            values.append(wrap(value) if isinstance(value, np.ndarray) else value)
        elif name in op.params:
            values.append(primal[op.params.index(name)])
        elif name in op.for_hooks:
            values.append(None)
        else:
            operand, kind = parts(name)
            value = primal[op.params.index(operand)]
            values.append([read(kind, v) for v in value] if isinstance(value, (list, tuple)) else read(kind, value))
    return values


def _apply_elementwise(op: OpDef, tangents: dict[int, Any], values: list[Any], result: Any) -> Any:
    """The sum of the reverse rules applied to tangents, conjugated where numbers are complex."""
    total = None
    for i, tangent in tangents.items():
        name = op.params[i]
        if tangent._sig.shape != result._sig.shape:
            tangent = F.expand(tangent, tuple(result._sig.shape))
        args = [values[j] for j in op.rule_args[name]]
        if result._sig.kind == "c" or tangent._sig.kind == "c":
            term = F.conj(op.rules[name](F.conj(tangent), *args))
        else:
            term = op.rules[name](tangent, *args)
        if term is not None:
            total = term if total is None else total + term
    if total is not None and result._sig.kind != "c" and total._sig.kind == "c":
        total = F.real(total)
    return total


def _transpose_reverse(op: OpDef, tangents: dict[int, Any], values: list[Any], results: list[Any]) -> list[Any]:
    """The tangent map as the transpose of the reverse rule: differentiate ``<rule(u), tangent>`` by ``u``."""
    diff = [r for r in results if r._sig.differentiable]

    def reverse(cotangents: list[Any]) -> list[Any]:
        filled = iter(cotangents)
        g = [next(filled) if r._sig.differentiable else None for r in results]
        return _reverse_rules(op, g[0] if op.outputs == 1 else tuple(g), tangents, values)

    flat_tangents: list[Any] = []
    for i in tangents:
        flat_tangents.extend(tangents[i] if isinstance(tangents[i], list) else [tangents[i]])
    pushed = iter(transpose_of(reverse, diff, flat_tangents))
    return [next(pushed) if r._sig.differentiable else None for r in results]


def _reverse_rules(op: OpDef, g: Any, tangents: dict[int, Any], values: list[Any]) -> list[Any]:
    """Reverse results for the operands that carry tangents, flattened."""
    if op.joint is not None:
        needs: list[bool] = []
        for p in op.diff_positions:
            have = tangents.get(p)
            needs.extend([t is not None for t in have] if isinstance(have, list) else [have is not None])
        made = list(op.joint(g, tuple(needs), *[values[j] for j in op.rule_args["*"]]))
        return [m for m, need in zip(made, needs, strict=True) if need]
    flat: list[Any] = []
    for i, tangent in tangents.items():
        name = op.params[i]
        made = op.rules[name](g, *[values[j] for j in op.rule_args[name]])
        if i in op.list_positions:
            flat.extend(made)
        else:
            real = made is not None and made._sig.kind == "c" and tangent._sig.kind != "c"
            flat.append(F.real(made) if real else made)
    return flat


def propagate(op: OpDef, args: tuple[Any, ...], results: list[Any], aux: tuple[Any, ...]) -> None:
    """Give the results of a call their tangents."""
    for t, tangent in zip(results, output_tangents(op, args, results, aux), strict=True):
        if tangent is not None and t._sig.differentiable:
            if tangent._sig.shape != t._sig.shape:
                tangent = F.expand(tangent, tuple(t._sig.shape))
            keep_tangent(t, tangent)
            if op.saves_result:
                keep_for_output(t, tangent)
