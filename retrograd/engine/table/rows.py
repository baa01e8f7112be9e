"""Constructors of table rows, one for each way in which forward mode follows from the reverse rules."""

from __future__ import annotations

from typing import Any

from ..core.registry import OPS
from .facts import RowError, Rule
from .op import OpDef


def _row(name: str, forward: Any, kind: str, node: str | None, tensors: str | None, rest: dict[str, Any]) -> OpDef:
    op = OpDef(name, forward, rest, kind=kind, node=node, tensors=tensors)
    if name in OPS:
        raise RowError(f"row {name!r} stands twice in the table")
    OPS[name] = op
    return op


def elementwise(
    name: str, forward: Any, *, node: str | None = None, tensors: str | None = None, **rules_and_facts: Any
) -> OpDef:
    """A row whose output element depends on the same element of each argument (broadcast)."""
    return _row(name, forward, "elementwise", node, tensors, rules_and_facts)


def linear(
    name: str, forward: Any, *, node: str | None = None, tensors: str | None = None, **rules_and_facts: Any
) -> OpDef:
    """A row that is linear in all its differentiable arguments together."""
    return _row(name, forward, "linear", node, tensors, rules_and_facts)


def multilinear(
    name: str, forward: Any, *, node: str | None = None, tensors: str | None = None, **rules_and_facts: Any
) -> OpDef:
    """A row that is linear in each differentiable argument separately."""
    return _row(name, forward, "multilinear", node, tensors, rules_and_facts)


def function(
    name: str, forward: Any, *, node: str | None = None, tensors: str | None = None, **rules_and_facts: Any
) -> OpDef:
    """Any other differentiable row."""
    return _row(name, forward, "function", node, tensors, rules_and_facts)


def listwise(name: str, forward: Any, rule: Rule, *, node: str | None = None, **facts: Any) -> OpDef:
    """A linear row whose first argument ``tensors`` is a list; its rule returns one gradient per element."""
    return _row(name, forward, "linear", node, "tensors*", {"tensors": rule, **facts})


def no_forward_mode(name: str) -> Rule:
    """The forward-mode rule of a row for which PyTorch has none: it raises."""

    def jvp(primal: Any, tangents: Any, results: Any) -> Any:
        raise NotImplementedError(
            f"Trying to use forward AD with {name.lstrip('_')} that does not support it because it has not been "
            "implemented yet."
        )

    return jvp


def underivable(name: str, forward: Any, *, tensors: str = "self", aten: str = "", **facts: Any) -> OpDef:
    """A differentiable row without a derivative formula: backward raises an error that says so, with ATen's name."""

    def rule(g: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{aten or name.lstrip('_')} is not implemented")

    rules: dict[str, Any] = dict.fromkeys(tensors.split(), rule)
    facts.setdefault("layout", "operands" if facts.get("promote") else "")
    return _row(name, forward, "function", "NotImplemented", tensors, {**rules, "jvp": no_forward_mode(name), **facts})


def nondifferentiable(name: str, forward: Any, *, tensors: str = "self", **facts: Any) -> OpDef:
    """A row without gradient."""
    return _row(name, forward, "nondifferentiable", None, tensors, facts)
