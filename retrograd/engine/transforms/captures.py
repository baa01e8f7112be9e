"""Writes, under transforms of ``torch.func``, to tensors that were created outside.

Derivatives refuse them; ``vmap`` undoes them between entries. A plain result does not show when it was made, so an
observer notes what is made while a level is open. Any other tensor, and what shares memory with it, is captured.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from ...locks import reentrant_lock
from .. import observe
from ..aliasing.versions import storage_of
from ..aliasing.views import requires_grad
from ..core.base import made
from ..switches.modes import is_grad_enabled
from ..switches.state import STATE
from ..switches.transforming import write_in_transform
from .cuts import CutPoint


class _Made:
    """What belongs to one level: its arguments, and what was made since it was opened.

    Arrays are known by the ids of those that own their memory.  Those from outside outlive the level, so none of
    theirs is given to a new one.
    """

    cut: CutPoint | None = None
    """Where histories are cut, at a level that is differentiated."""
    lent: frozenset[int] = frozenset()
    """Memory of the level's that tensors from outside have as well: what belongs to the level there has a history."""

    def __init__(self, arguments: Iterable[Any]) -> None:
        self.owners = {id(_owner(t._array)) for t in arguments}
        self.views: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        """Views of memory from outside that were made in the level, by id."""

    def made(self, t: Any) -> bool:
        """Whether a tensor belongs to the level: by its history if it has one, else by its memory, or as a view."""
        by_history = None if self.cut is None else self.cut.made(t)
        if by_history is not None:
            return by_history
        owner = id(_owner(t._array))
        return (owner in self.owners and owner not in self.lent) or id(t) in self.views

    def about_to_write(self, t: Any, name: str) -> None:
        """Do what is to be done before a write."""


class _Derivative(_Made):
    """A level beneath which captured tensors may not be written, nor recorded writes be made to ``leaves``."""

    def __init__(self, arguments: Iterable[Any], leaves: Iterable[Any], cut: CutPoint, recorded: Iterable[Any]) -> None:
        super().__init__(arguments)
        self.cut = cut
        self.lent = frozenset(id(_owner(t._array)) for t in recorded)
        self.leaves = {id(t) for t in leaves}

    def about_to_write(self, t: Any, name: str) -> None:
        """``RuntimeError`` for what is captured, or differentiated by."""
        if id(_owner(t._array)) not in self.owners:
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
                f"operation (aten::{name}) that would mutate a captured Tensor. This is not supported; please "
                "rewrite the function being transformed to explicitly accept the mutated Tensor(s) as inputs."
            )
        if self.leaves and is_grad_enabled() and not STATE.inference:
            _refuse_leaf(t, self.leaves)


def _refuse_leaf(t: Any, leaves: set[int]) -> None:
    """``RuntimeError`` for what a level differentiates by, and views of it: within the level it is a leaf."""
    view = t._meta.view if t._meta is not None else None
    if id(t if view is None else view.base) in leaves and requires_grad(t):
        what = "a leaf" if view is None else "a view of a leaf"
        raise RuntimeError(
            f"{what} Variable that requires grad is being used in an in-place operation. "
            "Write the out-of-place form, or write to a clone."
        )


class Repetition(_Made):
    """A level whose function is called for each entry of a batch, where PyTorch calls it once.

    What it writes to captured tensors is undone before the next entry, which thus finds what the first one did.
    """

    def __init__(self, arguments: Iterable[Any]) -> None:
        super().__init__(arguments)
        self._before: dict[int, tuple[Any, Any, Any, Any]] = {}

    def about_to_write(self, t: Any, name: str) -> None:
        """Keep what a captured tensor holds, and its history."""
        owner = _owner(t._array)
        if id(owner) in self.owners or id(owner) in self._before:
            return
        view = t._meta.view if t._meta is not None else None
        base = t if view is None else view.base
        self._before[id(owner)] = (owner, owner.copy(), base, base._fn)

    def begin(self, *, anew: bool) -> None:
        """An entry is about to be computed: one of the same call of PyTorch's as the last, unless ``anew``."""
        if anew:
            self._before.clear()
        for owner, values, base, fn in self._before.values():
            np.copyto(owner, values)
            base._fn = fn
            storage_of(base).bump()


def _owner(array: Any) -> Any:
    """The array that owns an array's memory."""
    while array.base is not None:
        below = array.base
        if not isinstance(below, np.ndarray):  # as_strided puts an object in between
            below = getattr(below, "base", None)
        if not isinstance(below, np.ndarray):
            break
        array = below
    return array


class _Watch:
    """Hears, for all threads, of what is made and what is about to be written."""

    hears_updates = False

    def operation(self, op: Any, args: Any, node: Any, inputs: list[Any], outputs: list[Any], took: int) -> None:
        """Results belong to the levels unless they lie in the memory of operands."""
        if STATE.levels:
            given = [_owner(t._array) for t in inputs]
            for t in outputs:
                owner = _owner(t._array)
                if not any(owner is other for other in given):
                    _keep(owner)
                    continue
                if not any(t is other for other in inputs):
                    for level in STATE.levels:
                        level.views[id(t)] = t

    def writing(self, op: Any, args: Any) -> None:
        """Levels see to what was not made in them; ``RuntimeError`` where it may not be written."""
        if STATE.levels and not STATE.pushing:
            write_in_transform(args[0], op.name.removeprefix("_overwrite").strip("_") + "_")

    def writing_out(self, value: Any, out: Any) -> None:
        """Report writes to ``out=`` only in a repetition: PyTorch allows them under derivatives."""
        for level in STATE.levels:
            if isinstance(level, Repetition):
                level.about_to_write(out, "out")


def _keep(owner: Any) -> None:
    for level in STATE.levels:
        level.owners.add(id(owner))


def _hear_made(t: Any) -> None:
    """A tensor that lies in the memory of no other belongs to the levels."""
    if STATE.levels:
        _keep(_owner(t._array))


_WATCH = _Watch()
_open_levels = 0
_changing = reentrant_lock()


def captures_refused(
    arguments: Iterable[Any], leaves: Iterable[Any], cut: CutPoint, recorded: Iterable[Any] = ()
) -> AbstractContextManager[Any]:
    """Within the block only ``arguments`` and what is made there may be written, ``leaves`` of them only unrecorded.

    ``recorded`` are those whose uses are recorded, in the memory of the caller's tensors.
    """
    return opened(_Derivative(arguments, leaves, cut, recorded))


@contextmanager
def opened(level: Any) -> Iterator[Any]:
    """A level that is open in the block."""
    _count(1)
    STATE.levels.append(level)
    try:
        yield level
    finally:
        STATE.levels.pop()
        _count(-1)


def _count(change: int) -> None:
    """Keep the observer registered while any thread has a level open."""
    global _open_levels
    with _changing:
        _open_levels += change
        if not _open_levels:
            observe.remove(_WATCH)
            made.remove(_hear_made)
        elif change == _open_levels:
            observe.add(_WATCH)
            made.append(_hear_made)
