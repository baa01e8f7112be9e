"""Edges between nodes, references to them, and their total number."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from ..aliasing.views import grad_fn_of, gradient_edge
from ..core.base import TensorBase
from ..core.registry import F
from ..switches.state import STATE, set_grad_enabled_here
from .node import GraphNode, edge_parts, edge_to

# Reference counts of objects, used where the count shows whether anyone else holds an object.


def never_alone(_: object) -> int:
    """Replace ``sys.getrefcount``: whatever it is asked about has other holders, so it is copied, not taken."""
    return sys.maxsize


# From 3.14 on a local variable lends its reference to the call instead of counting one more, so the numbers that the
# callers compare with would take what the program holds for free.
getrefcount = sys.getrefcount if sys.version_info < (3, 14) else never_alone


# Adds up gradients, some of which may be sparse.


def total(have: Any, g: Any) -> Any:
    """The sum of two gradients that are tensors; a sparse one is added to a dense one, whichever came first."""
    return g + have if have.is_sparse and not g.is_sparse else have + g


def arrived(have: Any, g: Any, create_graph: bool) -> Any:
    """The sum of what has arrived at a node and what arrives now; without a graph PyTorch adds sparse ones to the new
    one, so that their entries stand behind its entries."""
    return g + have if have.is_sparse and not create_graph else total(have, g)


# `GradientEdge`: refers to a point of the graph without its tensor.


class GradientEdge(NamedTuple):
    """A node and one of its inputs; ``ownership_token`` keeps a custom Function's graph alive."""

    node: Any
    output_nr: int
    ownership_token: Any = None


GradientEdge.__module__ = "retrograd.autograd.graph"


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge of ``tensor``'s gradient; ``RuntimeError`` when it does not require grad."""
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"get_gradient_edge() expects a Tensor, got {type(tensor).__name__}")
    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients. Call "
            "requires_grad_() on it, or on a leaf it is computed from, first."
        )
    node, nr = edge_parts(edge)
    return GradientEdge(node, nr, _view_node(tensor) if node.takes_attributes else None)


def _view_node(tensor: TensorBase) -> GraphNode | None:
    """A node that keeps everything below the tensor's node alive."""
    before = STATE.grad_enabled
    set_grad_enabled_here(True)
    try:
        return grad_fn_of(F._view(tensor, tuple(tensor._sig.shape)))
    finally:
        set_grad_enabled_here(before)


def node_of(t: Any) -> Any:
    """The node of a tensor (its accumulator for a leaf) or edge; ``AssertionError`` for a tensor without gradient."""
    if isinstance(t, GradientEdge):
        return t.node
    edge = gradient_edge(t) if isinstance(t, TensorBase) else None
    assert edge is not None, "Expected gradient function to be set: the tensor does not require grad"
    return edge_parts(edge)[0]


def edge_of(edge: GradientEdge) -> Any:
    """The engine's edge for a ``GradientEdge``; ``RuntimeError`` when it is malformed."""
    node, nr = edge.node, edge.output_nr
    if not isinstance(node, GraphNode):
        raise RuntimeError(f"GradientEdge's first object must be an autograd.graph.Node but got {type(node).__name__}")
    if not isinstance(nr, int) or not 0 <= nr < max(len(node._sigs), 1):
        raise RuntimeError(
            f"GradientEdge of {node.name()} has output_nr {nr}, but the node has {len(node._sigs)} input(s), "
            "numbered from 0"
        )
    return edge_to(node, nr)
