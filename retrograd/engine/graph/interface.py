"""The ``Node`` interface, saved-tensor hooks, multi-grad hooks and logging of ``torch.autograd.graph``."""

from __future__ import annotations

import abc
from typing import Any

from ..calls.inplace import bump_version
from ..core.base import TensorBase
from ..nodes.edges import GradientEdge, get_gradient_edge, node_of
from ..nodes.hooks import RemovableHandle, _MultiHandle
from ..nodes.node import GraphNode
from ..switches.state import STATE, enter_mode, leave_mode


class Node(abc.ABC):
    """The interface of a node of the backward graph; real nodes satisfy it without inheriting from it."""

    __module__ = "retrograd.autograd.graph"

    @abc.abstractmethod
    def name(self) -> str:
        """The node's name."""
        raise NotImplementedError

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """One ``(node, input number)`` pair per operand."""
        raise NotImplementedError

    @abc.abstractmethod
    def metadata(self) -> dict[str, Any]:
        """A dictionary for notes."""
        raise NotImplementedError

    @abc.abstractmethod
    def _sequence_nr(self) -> int:
        raise NotImplementedError

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> tuple[Any, ...]:
        raise NotImplementedError

    @abc.abstractmethod
    def _register_hook_dict(self, tensor: Any) -> None:
        raise NotImplementedError

    @abc.abstractmethod
    def register_hook(self, fn: Any) -> RemovableHandle:
        """Register a post hook."""
        raise NotImplementedError

    @abc.abstractmethod
    def register_prehook(self, fn: Any) -> RemovableHandle:
        """Register a pre hook."""
        raise NotImplementedError

    @classmethod
    def __subclasshook__(cls, candidate: type) -> Any:
        if cls is not Node:
            return NotImplemented
        return True if issubclass(candidate, GraphNode) else NotImplemented


_get_grad_fn_or_grad_acc = node_of


def increment_version(tensor: Any) -> None:
    """Raise the version of a tensor, or of each tensor of an iterable; inference tensors are skipped."""
    if isinstance(tensor, TensorBase):
        bump_version(tensor)
        return
    if not hasattr(tensor, "__iter__"):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input, got " + type(tensor).__name__)
    for t in tensor:
        if not isinstance(t, TensorBase):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        bump_version(t)


class saved_tensors_hooks:  # noqa: N801 - torch's name
    """Context manager: ``pack_hook`` turns each tensor that is saved into anything, ``unpack_hook`` back."""

    __module__ = "retrograd.autograd.graph"

    def __init__(self, pack_hook: Any, unpack_hook: Any) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if STATE.saved_hooks_disabled is not None:
            raise RuntimeError(STATE.saved_hooks_disabled)
        if not callable(self.pack_hook) or not callable(self.unpack_hook):
            raise TypeError(
                "saved_tensors_hooks(): incompatible function arguments. The following argument types are supported: "
                "two callables, pack_hook and unpack_hook"
            )
        STATE.saved_hooks.append((self.pack_hook, self.unpack_hook))
        enter_mode()

    def __exit__(self, *exc: object) -> None:
        STATE.saved_hooks.pop()
        leave_mode()


__all__ = [
    "GradientEdge", "Node", "_MultiHandle", "_get_grad_fn_or_grad_acc", "get_gradient_edge", "increment_version",
    "saved_tensors_hooks",
]  # fmt: skip
