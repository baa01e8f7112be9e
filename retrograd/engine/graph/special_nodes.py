"""Two operations that only affect gradients: one drops them, one raises in backward."""

from __future__ import annotations

from typing import Any

from ..aliasing.views import gradient_edge
from ..core.base import TensorBase, wrap
from ..nodes.node import NODE_CLASSES, GraphNode, edge_to
from ..nodes.opnode import RunContext
from ..switches.state import STATE


class UndefinedGradBackward(GraphNode):
    """Passes no gradient on."""

    __slots__ = ("_edges",)
    qualified_name = "torch::autograd::UndefinedGradBackward"

    def _run(self, grads: list[Any], task: RunContext) -> tuple[Any, ...]:
        return (None,) * len(self._edges)


class Error(GraphNode):
    """Raises a ``RuntimeError`` with the message it was made with."""

    __slots__ = ("_edges", "message")
    qualified_name = "torch::autograd::Error"
    message: str

    def _run(self, grads: list[Any], task: RunContext) -> tuple[Any, ...]:
        raise RuntimeError(self.message)


class UndefinedGrad:
    """``UndefinedGrad()(t)``: a copy of ``t`` through which no gradient flows, though it requires grad."""

    def __call__(self, *inputs: Any) -> Any:
        return _pass_through(UndefinedGradBackward, inputs, 1)


class DelayedError:
    """``DelayedError(message, n)(*tensors)``: copies of n tensors whose backward raises ``RuntimeError(message)``."""

    def __init__(self, msg: str, num_inputs: int) -> None:
        if not isinstance(msg, str):
            raise RuntimeError(f"argument 'msg' must be a string, not {type(msg).__name__}")
        self.message = msg
        self.num_inputs = num_inputs

    def __call__(self, *inputs: Any) -> Any:
        return _pass_through(Error, inputs, self.num_inputs, message=self.message)


def _pass_through(kind: type[GraphNode], inputs: tuple[Any, ...], count: int, **attributes: Any) -> Any:
    """Copies of the inputs, behind one node of this kind if any of them requires grad."""
    if len(inputs) != count:
        raise TypeError(f"expected {count} arguments, got {len(inputs)} instead")
    for i, t in enumerate(inputs):
        if not isinstance(t, TensorBase):
            raise TypeError(f"argument {i} is not a Variable")
    edges = tuple([gradient_edge(t) for t in inputs])
    outputs = [wrap(t._array.copy()) for t in inputs]
    if STATE.grad_enabled and not STATE.inference and any(e is not None for e in edges):
        node = kind(edges, tuple([t._sig if t._sig.differentiable else None for t in inputs]))
        for name, value in attributes.items():
            setattr(node, name, value)
        for nr, t in enumerate(outputs):
            if node._sigs[nr] is not None:
                t._fn = edge_to(node, nr)
    return outputs[0] if count == 1 else tuple(outputs)


NODE_CLASSES["UndefinedGradBackward"] = UndefinedGradBackward
NODE_CLASSES["Error"] = Error
