"""Turns an in-place write into history: of the tensor written, or of the base of a view."""

from __future__ import annotations

from typing import Any

from ..aliasing.strided import Geometry, zeros_like_layout
from ..aliasing.views import gradient_edge, move_retained, replay, view_edge
from ..core.base import TensorBase, wrap
from ..core.bits import assign
from ..execution.fit import is_expandable_to
from ..nodes.node import NODE_CLASSES, GraphNode
from ..nodes.opnode import RunContext
from ..nodes.saved import SECOND_TIME


def rebase_history(t: TensorBase, node: GraphNode) -> None:
    """Make ``node`` (which recorded a write to ``t``) the history of ``t``, through the root if ``t`` is a view."""
    view = t._meta.view if t._meta is not None else None
    if view is None:
        set_history(t, node)
        return
    base = view.base
    copy = CopySlices(base, view.replay, node)
    set_history(base, copy)
    assert t._meta is not None
    view_edge(t)


def set_history(t: TensorBase, edge: Any) -> None:
    """Replace the edge of a non-view after a write: its hooks stay with the old node, ``retain_grad`` moves."""
    old = t._fn
    meta = t._meta
    t._fn = edge
    if meta is None:
        return
    meta.requires_grad = False
    meta.hooks = None
    if meta.retains_grad:
        move_retained(t, old, edge)


class CopySlices(GraphNode):
    """History of a root after one of its views was written: wraps the node of the write.

    Backward copies the gradient of the root, hands the written region of the copy to the wrapped node, and puts
    the result for the written tensor back in its place.
    """

    __slots__ = ("_edges", "fn", "geometry", "steps")
    qualified_name = "torch::autograd::CopySlices"
    fn: Any

    def __init__(self, base: TensorBase, steps: tuple[Any, ...], fn: GraphNode) -> None:
        super().__init__((gradient_edge(base), *fn._edges[1:]), base._sig.alone)
        self.geometry = Geometry.of(base._array, 0)
        self.steps = steps
        self.fn = fn

    def _run(self, grads: list[Any], task: RunContext) -> tuple[Any, ...]:
        if self.fn is None:
            raise RuntimeError(SECOND_TIME)
        g = grads[0]
        if g is None:
            return (None,) * len(self._edges)
        context = _FirstOperand(task, self)
        result, *rest = self._run_tensors(g, context) if task.tensors else self._run_arrays(g, context)
        return (result if context.base_wanted else None, *rest)

    def _run_arrays(self, g: Any, task: _FirstOperand) -> tuple[Any, ...]:
        """Backward of a write into a view: the region's gradient goes through the writing node, the rest passes."""
        result = zeros_like_layout(self.geometry, g.dtype)
        result[...] = g
        region = self._region(result)
        first, *rest = self.fn._run([region._array.copy()], task)
        if first is None:
            assign(region, 0)
        elif task.base_wanted:  # otherwise it is the gradient of something else, of any shape
            if not is_expandable_to(first.shape, region.shape):
                raise RuntimeError(
                    f"{self.fn.name()} returned a gradient of shape {list(first.shape)} for a view of shape "
                    f"{list(region.shape)} that was written in place; return one of the view's shape."
                )
            assign(region, first)
        return (result, *rest)

    def _region(self, result: Any) -> Any:
        """The written part of the base's gradient, as a tensor."""
        if any(op.toggles for op, _, _ in self.steps):
            return replay(self.steps, wrap(result))
        return wrap(replay(self.steps, result))

    def _run_tensors(self, g: Any, task: _FirstOperand) -> tuple[Any, ...]:
        shape, strides, _ = self.geometry
        lies_alike = tuple(g.stride()) == strides  # views depend on it
        result = g.clone() if lies_alike else g.new_empty_strided(shape, strides).copy_(g)
        region = replay(self.steps, result)
        first, *rest = self.fn._run([region.clone()], task)
        if first is None:
            region.zero_()
        elif task.base_wanted:
            region.copy_(first)
        return (result, *rest)

    def _release(self) -> None:
        if self.fn is not None:
            self.fn._release()
            self.fn = None


class _FirstOperand:
    """The task as the wrapped node sees it: operand 0 is wanted exactly when the root's history is."""

    def __init__(self, task: RunContext, node: CopySlices) -> None:
        self.tensors, self.seen = task.tensors, task.seen
        self.restricted = True
        self._task = task
        self.base_wanted = node._edges[0] is not None and task.wants(node._edges[0])
        self._first = node.fn._edges[0] if node.fn._edges else None

    def wants(self, edge: Any) -> bool:
        return self.base_wanted if edge is self._first else self._task.wants(edge)


NODE_CLASSES["CopySlices"] = CopySlices
