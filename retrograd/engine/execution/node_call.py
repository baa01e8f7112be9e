"""Calls a single node: ``node(*grads)``."""

from __future__ import annotations

from typing import Any

from ..core.base import TensorBase
from ..nodes.node import GraphNode
from ..nodes.opnode import OpNode
from ..switches.state import STATE
from .fit import fit_results


class _SingleNode:
    """The task of a node that is called directly."""

    def __init__(self) -> None:
        self.create_graph = STATE.grad_enabled
        self.tensors = True
        self.restricted = False
        self.seen = None
        self.keep_graph = True

    def wants(self, edge: Any) -> bool:
        return True

    def use_tensors(self) -> None:
        pass


def call_node(node: GraphNode, grads: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``node(*grads)``: run just that node on tensors (``None`` allowed)."""
    if kwargs:
        raise TypeError(f"{type(node).__name__}(): keyword arguments are not supported")
    expected = node.input_count()
    if len(grads) != expected:
        raise TypeError(f"{node.name()} expected {expected} arguments, got {len(grads)} instead")
    for i, g in enumerate(grads):
        if g is not None and not isinstance(g, TensorBase):
            raise TypeError(f"argument {i} is not a Variable")
    missing = [None] * (len(node._sigs) - expected)
    results = fit_results(node, node._run([*grads, *missing], _SingleNode()), True)
    return results[0] if len(results) == 1 else results


OpNode.caller = staticmethod(call_node)
