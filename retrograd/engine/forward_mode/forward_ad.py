"""Forward-mode AD: dual levels, dual tensors and where their tangents are kept."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Final, NamedTuple

import numpy as np

from ...locks import lock
from .. import late
from ..aliasing.strided import element_strides, root_array, storage_offset
from ..aliasing.versions import storage_of
from ..aliasing.views import gradient_edge, replay
from ..core.base import TensorBase, wrap
from ..core.batches import spread
from ..core.registry import F
from ..nodes.node import GraphNode, edge_parts
from ..overriding.asked_functions import detached
from ..overriding.dispatch_classes import is_dispatching
from ..switches import state
from ..switches.modes import ModeContext
from ..switches.state import STATE


class Level:
    """One open forward-mode level; it knows its tangents and drops them all when it closes."""

    def __init__(self) -> None:
        self.is_open = True
        self.thread = threading.get_ident()
        self.duals: list[weakref.ref[TensorBase]] = []
        # A node keeps its own output as a bare array; the tangent of that output waits here.
        self.of_outputs: weakref.WeakKeyDictionary[GraphNode, dict[int, Any]] = weakref.WeakKeyDictionary()

    def keep(self, t: TensorBase, tangent: Any) -> None:
        """Give ``t`` a tangent until this level closes; nothing when it has closed already."""
        if self.is_open:
            meta = t.need_meta()
            meta.tangent, meta.tangent_level = tangent, self
            self.duals.append(weakref.ref(t))

    def close(self) -> None:
        """Forget every tangent of this level."""
        self.is_open = False
        for ref in self.duals:
            t = ref()
            if t is not None and t._meta is not None and t._meta.tangent_level is self:
                t._meta.tangent = None
                t._meta.tangent_level = None
        self.of_outputs.clear()


NESTED: Final = "Nested forward mode AD is not supported at the moment. Close the open level before you enter another."
_open: Level | None = None
"""The open level; there is one for all threads, and any of them may close it between two looks at this."""
_opening = lock()


class UnpackedDualTensor(NamedTuple):
    """What ``unpack_dual`` returns."""

    primal: Any
    tangent: Any


UnpackedDualTensor.__module__ = "retrograd.autograd.forward_ad"


def current_level() -> int:
    """The number of the open level, 0, or -1 where none is open."""
    return -1 if _open is None else 0


def is_open_here() -> bool:
    """Whether this thread opened the level that is open."""
    level = _open
    return level is not None and level.thread == threading.get_ident()


def open_level() -> bool:
    """Open a forward-mode level unless one is open already, in whichever thread; whether it was opened."""
    global _open
    with _opening:
        if _open is not None:
            return False
        _open = Level()
        state.FORWARD_LEVELS = 1
    state.enter_mode()
    return True


def enter_dual_level() -> int:
    """Open a forward-mode level; ``RuntimeError`` when one is open already."""
    if not open_level():
        raise RuntimeError(NESTED)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the open level and drop its tangents."""
    global _open
    if level is not None and level != current_level():
        raise RuntimeError(
            f"Trying to exit a forward AD level that was not the last one that was created: {level}. This is not "
            "supported."
        )
    with _opening:
        closed, _open = _open, None
        state.FORWARD_LEVELS = 0
    if closed is None:
        raise RuntimeError("Dual level must be a positive number: no level is open that could be left.")
    closed.close()
    state.leave_mode()


class dual_level(ModeContext):  # noqa: N801 - torch's name
    """Context manager (or decorator) inside which dual tensors live; yields the level, 0."""

    __module__ = "retrograd.autograd.forward_ad"

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    """Whether tangents are propagated in this thread."""
    return STATE.forward_grad_enabled


class _set_fwd_grad_enabled(ModeContext):  # noqa: N801
    """Switch tangent propagation in this thread; restores on exit."""

    def __init__(self, mode: bool) -> None:
        self.before = STATE.forward_grad_enabled
        self.mode = mode
        STATE.forward_grad_enabled = mode

    def __enter__(self) -> None:
        STATE.forward_grad_enabled = self.mode

    def __exit__(self, *exc: object) -> None:
        STATE.forward_grad_enabled = self.before

    def clone(self) -> Any:
        """The same switch again."""
        return type(self)(self.mode)


# -- tangents of tensors


def tangent_of(t: TensorBase) -> Any:
    """The tangent of a tensor at the open level, or ``None``; a plain view of a dual has a view of its tangent."""
    if _open is None:
        return None
    meta = t._meta
    if meta is None:
        return None
    if meta.tangent is not None:
        return meta.tangent
    view = meta.view
    if view is None or view.base._meta is None or view.base._meta.tangent is None:
        return None
    if any(op.name in ("_fw_primal", "_make_dual") for op, _args, _nr in view.replay):
        return None
    keep_tangent(t, replay(view.replay, view.base._meta.tangent))
    return t._meta.tangent if t._meta is not None else None


def keep_tangent(t: TensorBase, tangent: Any) -> None:
    """Store a tangent and remember it for the end of the level."""
    level = _open
    if level is not None:
        level.keep(t, tangent)


def set_tangent(t: TensorBase, tangent: Any) -> None:
    """Give ``t`` a tangent; the object itself is kept when its layout is the primal's, else a copy laid out so."""
    if tangent._sig.shape != t._sig.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(t._sig.shape)} while the given forward gradient is of size "
            f"{list(tangent._sig.shape)}."
        )
    if tangent_of(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    if tangent_of(t) is not None:
        raise RuntimeError(
            "Trying to set a forward gradient on a Tensor that already has a forward gradient at the same level, this "
            "is not supported."
        )
    keep_tangent(t, tangent if _same_layout(t, tangent) else _laid_out_like(t, tangent))


def _same_layout(t: TensorBase, tangent: TensorBase) -> bool:
    if root_array(t).size != root_array(tangent).size or storage_offset(t) != storage_offset(tangent):
        return False
    return element_strides(t._array) == element_strides(tangent._array)


def _laid_out_like(t: TensorBase, tangent: Any) -> Any:
    view = t._meta.view if t._meta is not None else None
    if view is None or storage_offset(t) == 0:
        made = F.empty_like_layout(t)
    else:
        base = wrap(np.zeros_like(view.base._array, dtype=tangent._sig.numpy))
        made = replay(view.replay, base)
    if STATE.batches:
        spread((t, tangent), (made,))
    made.copy_(tangent)
    return made


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A new tensor that aliases ``tensor`` and carries ``tangent``; the original is untouched.

    Raises ``RuntimeError`` outside a level, for a size mismatch or a tensor that is dual already, ``ValueError``
    for dtypes that are not floating or complex.
    """
    if _open is None or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(t, TensorBase):
            raise TypeError(f"make_dual(): {name} must be Tensor, not {type(t).__name__}")
        if not t._sig.differentiable:
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t._sig.dtype}")
    if level:
        raise RuntimeError(f"Invalid level given to _make_dual: {level}, but only level 0 is open.")
    if tangent_of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported."
        )
    dual = alias_view(F._make_dual, tensor)
    set_tangent(dual, tangent)
    return dual


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """Primal and tangent; the tangent is ``None`` for a tensor that is not dual or outside a level."""
    if not isinstance(tensor, TensorBase) and _open is not None:
        raise TypeError(f"unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    if _open is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    if level:
        raise RuntimeError(f"Invalid level given to _fw_primal: {level}, but only level 0 is open.")
    tangent = tangent_of(tensor) if STATE.forward_grad_enabled and not STATE.inference else None
    primal = alias_view(F._fw_primal, tensor)
    return UnpackedDualTensor(primal, tangent)


def alias_view(aliased: Any, t: TensorBase) -> Any:
    """A differentiable view of all of ``t``, made by this operator, that carries no tangent, nor do views of it."""
    before = STATE.forward_grad_enabled
    STATE.forward_grad_enabled = False
    try:
        return aliased(t)
    finally:
        STATE.forward_grad_enabled = before


def carries_tangent(operands: list[Any]) -> bool:
    """Whether any operand has a tangent at the open level."""
    return _open is not None and any(t._meta is not None and tangent_of(t) is not None for t in operands)


def stripped(t: Any) -> Any:
    """The same tensor without its tangent, at the same place in the graph."""
    if not isinstance(t, TensorBase) or tangent_of(t) is None:
        return t
    if is_dispatching(t):
        plain = detached(t)
        plain._fn = gradient_edge(t)
        return plain
    plain = wrap(t._array, gradient_edge(t), shares=True)
    plain.need_meta().storage = storage_of(t)
    return plain


def keep_for_output(t: TensorBase, tangent: Any) -> None:
    """Remember the tangent of a result that its node saves as bare array."""
    edge = gradient_edge(t)
    if edge is not None:
        keep_for_node(*edge_parts(edge), tangent)


def keep_for_node(node: GraphNode, nr: int, tangent: Any) -> None:
    """Remember the tangent of an output that a node saves as bare array."""
    level = _open
    if level is not None:
        level.of_outputs.setdefault(node, {})[nr] = tangent


def _restore_tangent(t: TensorBase, node: GraphNode, nr: int) -> None:
    level = _open
    tangent = None if level is None else level.of_outputs.get(node, {}).get(nr)
    if tangent is not None:
        keep_tangent(t, tangent)


late.restore_tangent = _restore_tangent
