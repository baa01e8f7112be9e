"""Saved tensors: how they are packed, checked and unpacked.

An op node keeps an input as the tensor itself and its own output as a bare array (a tensor would refer back to
the node).  Where saved-tensor hooks are active, or a custom Function saves, a ``SavedTensor`` record is kept.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .. import late
from ..aliasing.storage import Storage
from ..aliasing.versions import storage_of, version_of
from ..core.base import LAZY, Meta, TensorBase, is_inference, wrap
from ..core.sig import Sig
from ..overriding.asked_functions import detached, is_asked
from ..overriding.dispatch_classes import is_dispatching
from ..switches import state, watchers
from .hooks import tensor_type_name
from .node import GraphNode, Port, edge_parts, edge_to, suffix_free

SECOND_TIME = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)
INFERENCE_SAVE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
    "in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)

DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not supported, please "
    "use out-of-place `.detach()` instead"
)

_HINTS = {
    False: (
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    ),
    True: (
        "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable "
        "in question was changed in there or anywhere later. Good luck!"
    ),
}
"""Advice for a value that was overwritten, without and under anomaly mode."""


def _message_type(sig: Sig) -> str:
    name = tensor_type_name(sig)
    if sig.kind in "cb":
        return "CPU" + name.removeprefix("torch.").removesuffix("Tensor") + "Type"
    return name


def version_error(sig: Sig, edge: Any, now: int, expected: int) -> RuntimeError:
    """The error for a saved value that was written to after it was saved."""
    text = (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{_message_type(sig)} {list(sig.shape)}]"
    )
    if edge is not None and edge is not LAZY:
        node, nr = edge_parts(edge)
        if node._edges:
            text += f", which is output {nr} of {suffix_free(node.name())},"
    return RuntimeError(f"{text} is at version {now}; expected version {expected} instead. {_HINTS[state.ANOMALY]}")


def check_input(t: TensorBase, number: int) -> None:
    """Raise if ``t`` was written to after the node with this number saved it."""
    meta = t._meta
    if meta is None or meta.storage is None or meta.inference:
        return
    if meta.detached_at > number:
        raise RuntimeError(DETACHED)
    now, expected = meta.storage.version, meta.storage.version_at(number)
    if now != expected:
        # a view that may not be brought up to date says so first
        edge = t._fn if t._fn is not LAZY else (late.find_edge(t) if meta.view is not None else None)
        raise version_error(t._sig, edge, now, expected)


def check_output(storage: Storage | None, node: GraphNode, nr: int) -> None:
    """Raise if a node's own output was written to after the node saved it."""
    if storage is not None:
        now, expected = storage.version, storage.version_at(node._number)
        if now != expected:
            sig = node._sigs[nr]
            assert sig is not None
            raise version_error(sig, edge_to(node, nr), now, expected)


def unpack_output(array: Any, node: Any, nr: int) -> Any:
    """A fresh tensor for a node's own output, sharing its version counter."""
    t = wrap(array, node if len(node._sigs) == 1 else edge_to(node, nr))
    storages = node.output_storages
    if storages is None:
        storages = node.output_storages = {}
    storage = storages.get(nr)
    if storage is None:
        storage = storages[nr] = Storage()
    t._meta = Meta()
    t._meta.storage = storage
    if state.FORWARD_LEVELS:
        late.restore_tangent(t, node, nr)
    return t


def _alias(t: TensorBase) -> Any:
    """The same value as a fresh tensor."""
    return detached(t, shares_version=False) if is_dispatching(t) else wrap(t._array, shares=True)


class SavedTensor:
    """One value kept for backward, with its version, and hooks that pack and unpack it."""

    __module__ = "retrograd._C._autograd"

    __slots__ = (
        "__weakref__", "_array", "_edge", "_is_output", "_level", "_meta_storage", "_nr", "_packed", "_released",
        "_sig", "_tangent", "_tensor", "_unpack", "_version", "_was_leaf",
    )  # fmt: skip

    def __init__(self, t: Any = ..., is_output: bool = False, nr: int = 0, edge: Any = None) -> None:
        if t is ...:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self._released = False
        self._tensor: TensorBase | None = None
        self._array: Any = None
        self._packed: Any = None
        self._unpack: Callable[[Any], Any] | None = None
        self._is_output, self._nr = is_output, nr
        self._edge = edge
        self._tangent: Any = None
        self._level: Any = None
        """The forward-mode level that the tangent belongs to."""
        self._sig: Sig | None = None
        if t is None:
            return
        if is_inference(t):
            raise RuntimeError(INFERENCE_SAVE)
        self._sig = t._sig
        self._version = version_of(t)
        self._meta_storage = storage_of(t)
        self._was_leaf = not is_output and edge is None
        if t._meta is not None:
            self._tangent, self._level = t._meta.tangent, t._meta.tangent_level
        hooks = state.STATE.saved_hooks
        if hooks and not (t._meta is not None and t._meta.wrapped_number):
            self._pack(t, *hooks[-1])
        elif is_output and not is_asked(t):
            self._array = t._array
        else:
            self._tensor = detached(t) if is_output else t

    def _pack(self, t: TensorBase, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> None:
        """The pack hook's result for a tensor; ``RuntimeError`` if the hook writes into it."""
        before = version_of(t)
        was = state.STATE.grad_enabled
        state.set_grad_enabled_here(False)
        try:
            self._packed = pack(t)
        finally:
            state.set_grad_enabled_here(was)
        if version_of(t) != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please "
                "open an issue if you need to perform in-place operations on the input to a pack hook."
            )
        if self._unpack is None:
            watchers.appear()  # unpacking runs the user's code
        self._unpack = unpack
        self._tensor, self._array = None, None

    def __del__(self) -> None:
        if getattr(self, "_unpack", None) is not None:
            watchers.vanish()

    # -- what a user sees of the handle
    @property
    def data(self) -> Any:
        """What is kept: the packed object, or the tensor's data."""
        if self._unpack is not None:
            return self._packed
        return (
            self._tensor
            if self._tensor is not None
            else (None if self._array is None else wrap(self._array, shares=True))
        )

    @property
    def unpack_hook(self) -> Callable[[Any], Any] | None:
        """The unpack hook, if hooks were set."""
        return self._unpack

    def unpack(self) -> Any:
        """The saved tensor, as backward would see it."""
        return self.value(None)

    def register_hooks(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        """Pack this value now; unpack it with ``unpack_hook`` whenever it is needed."""
        if self._released:
            raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed. " + SECOND_TIME)
        if self._unpack is not None:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set.")
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are supported: two "
                "callables, pack_hook and unpack_hook"
            )
        if self._sig is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        source = self._tensor if self._tensor is not None else wrap(self._array, shares=True)
        if self._tensor is not None and not self._is_output:
            self._edge = self._edge if self._edge is not None else late.find_edge(source)
        alias = _alias(source)
        alias.need_meta().storage = self._meta_storage
        self._pack(alias, pack_hook, unpack_hook)

    # -- what the engine needs
    def release(self) -> None:
        """Forget the value; reading it from now on is an error."""
        self._released = True
        self._tensor = self._array = self._packed = self._tangent = None

    def value(self, node: GraphNode | None) -> Any:
        """The tensor: the original where it was kept, otherwise one that is connected to the original graph."""
        if self._released:
            raise RuntimeError(SECOND_TIME)
        if self._sig is None:
            return None
        if self._unpack is not None:
            return self._unpacked(node)
        if self._tensor is not None and self._tensor._meta is not None and self._tensor._meta.view is not None:
            late.find_edge(self._tensor)  # raises if this view has lost its history
        self._check_version(node)
        if self._tensor is not None and self._is_output:
            return self._connected(detached(self._tensor), node)
        if self._tensor is not None:
            if node is None or not node.takes_attributes:  # a custom Function gets what it saved, history or not
                self._check_not_detached(self._tensor)
            return self._tensor
        return self._connected(wrap(self._array, shares=True), node)

    def _check_version(self, node: GraphNode | None) -> None:
        now = self._meta_storage.version
        if now == self._version:
            return
        edge = self._edge
        if self._is_output and node is not None:
            edge = edge_to(node, self._nr)
        elif self._tensor is not None:
            edge = self._tensor._fn
        assert self._sig is not None
        raise version_error(self._sig, edge, now, self._version)

    def _check_not_detached(self, t: TensorBase) -> None:
        if self._edge is not None and t._fn is None and not edge_parts(self._edge)[0].accumulates:
            raise RuntimeError(DETACHED)

    def _unpacked(self, node: GraphNode | None) -> Any:
        assert self._unpack is not None
        result = self._unpack(self._packed)
        if not isinstance(result, TensorBase):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                + type(result).__name__
            )
        if self._edge is None and not self._is_output:
            return result
        return self._connected(_alias(result), node, own_counter=True)

    def _connected(self, t: Any, node: GraphNode | None, own_counter: bool = False) -> Any:
        """Give a rebuilt tensor the original's place in the graph."""
        t._fn = edge_to(node, self._nr) if self._is_output and node is not None else self._edge
        if not own_counter:
            t.need_meta().storage = self._meta_storage
        if t._fn is not None and t._fn.__class__ is not Port and t._fn.accumulates:
            meta = t.need_meta()  # a leaf: same accumulator, still a leaf
            meta.requires_grad, meta.accumulator = True, weakref.ref(t._fn)
            meta.same_leaf = t._fn
            t._fn = LAZY
        if self._tangent is not None:
            self._level.keep(t, self._tangent)
        elif self._is_output and node is not None and state.FORWARD_LEVELS:
            late.restore_tangent(t, node, self._nr)
        return t
