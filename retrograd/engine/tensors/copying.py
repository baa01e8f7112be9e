"""Copies and pickles of tensors: data and flags, never the graph."""

from __future__ import annotations

import copy
from typing import Any

from .. import late
from ..aliasing.strided import element_strides, root_array, storage_offset, strided
from ..aliasing.versions import share_storage, storage_of
from ..aliasing.views import grad_fn_of, requires_grad
from ..core.base import LAZY, PLAIN_CLASSES, wrap
from ..core.bits import bits_of, class_of, mark, memory_of
from ..nodes.hooks import warn_if_has_hooks
from ..overriding.dispatch_classes import is_dispatching
from ..switches.modes import no_grad
from .convert import refusal, reported


def deepcopy(t: Any, memo: dict[int, Any]) -> Any:
    """A leaf's copy with its requires_grad; ``RuntimeError`` for a tensor with history.

    A plain tensor's copy has its gradient and attributes as well, a parameter's has not, as in PyTorch.
    """
    if id(t) in memo:
        return memo[id(t)]
    if grad_fn_of(t) is not None:
        raise refusal(
            "deepcopy",
            t,
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            "Copy tensor.detach() instead.",
        )
    trained = issubclass(class_of(t), late.parameter_class)
    if is_dispatching(t):
        made = _cloned(t)
    else:
        if not trained:
            _check_new_empty(t)
        made = _copied(t, memo)
        made.__class__ = class_of(t)
    memo[id(t)] = made
    if not trained:
        storage_of(made).bump()  # PyTorch writes the copy into an empty tensor, which counts
        if t.__dict__:
            made.__dict__.update(copy.deepcopy(t.__dict__, memo))
    if t._meta is not None:
        _copy_record(made, t._meta, None if trained else memo)
    return reported("deepcopy", t, made)


def _cloned(t: Any) -> Any:
    """``clone`` of a tensor by its class; ``RuntimeError`` if the result has another class."""
    with no_grad():
        made = t.clone()
    if type(made) is not type(t):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that "
            "properly implement clone() and for which cloning returns another instance of the same subclass. You "
            "should either properly implement clone() for your subclass or override __deepcopy__()."
        )
    return made


def _check_new_empty(t: Any) -> None:
    """``RuntimeError`` for a subclass of which ``new_empty`` makes no tensors."""
    if class_of(t) in PLAIN_CLASSES or type(t.new_empty(())) is type(t):
        return
    raise RuntimeError(
        "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that "
        "implement new_empty() and for which that function returns another instance of the same subclass. You should "
        "either properly implement new_empty() for your subclass or override __deepcopy__() if it is intended "
        "behavior for new_empty() to return an instance of a different type."
    )


def _copied(t: Any, memo: dict[int, Any]) -> Any:
    """A copy in the same place of a copy of the whole memory; tensors that share memory share the copy as well."""
    meta = t._meta
    if meta is None or meta.bits or (meta.storage is None and meta.view is None):
        return wrap(t._array.copy(order="K"))
    root = root_array(t)
    copied = memo.get(id(meta.storage))
    if copied is None:
        copied = memo[id(meta.storage)] = root.copy(order="K")
    if copied.strides != root.strides or copied.dtype != t._array.dtype:
        return wrap(t._array.copy(order="K"))
    made = wrap(strided(copied, t._array.shape, element_strides(t._array), storage_offset(t)))
    storage_of(made).root = copied  # each copy counts its own versions, as in PyTorch
    return made


def _copy_record(made: Any, meta: Any, memo: dict[int, Any] | None) -> None:
    new = made.need_meta()
    new.is_parameter = meta.is_parameter
    if meta.requires_grad:
        new.requires_grad = True
        made._fn = LAZY
    if meta.grad is not None and memo is not None:
        new.grad = deepcopy(meta.grad, memo)


def reduce(t: Any, protocol: int) -> Any:
    """Pickle data and ``requires_grad``, never the graph; warn about a plain tensor's hooks, which are lost."""
    meta = t._meta
    parameter = meta is not None and meta.is_parameter
    if not parameter:
        warn_if_has_hooks(t)
    kind = None if class_of(t) in PLAIN_CLASSES else t.__class__
    array, place = _memory(t)
    return (rebuild, (array, requires_grad(t), None, parameter, dict(t.__dict__), kind, place, bits_of(t)))


Place = tuple[tuple[int, ...], tuple[int, ...], int]
"""Shape, strides and offset in elements."""


def _memory(t: Any) -> tuple[Any, Place | None]:
    """The array to pickle; of tensors that share memory it is the same one, with the place of each in it."""
    array = memory_of(t)
    if t._meta is None or t._meta.storage is None:
        return array, None
    root = root_array(t)
    if root is array or root.dtype != array.dtype:
        return array, None
    return root, (tuple(array.shape), tuple(element_strides(array)), storage_offset(t))


def rebuild(
    array: Any, needs_grad: bool, hooks: Any, parameter: bool, attributes: dict[str, Any], kind: Any = None,
    place: Place | None = None, bits: int = 0,
) -> Any:  # fmt: skip
    """A tensor from its pickled parts."""
    t = wrap(array)
    if place is not None:
        whole, t = t, wrap(strided(array, *place))
        root_array(whole)
        share_storage(t, whole)
    if needs_grad:
        meta = t.need_meta()
        meta.requires_grad, meta.hooks = True, hooks
        t._fn = LAZY
    if parameter:
        t.need_meta().is_parameter = True
        t.__class__ = late.parameter_class
    t.__dict__.update(attributes)
    if kind is not None:
        t.__class__ = kind
    mark(t, bits)
    return t
