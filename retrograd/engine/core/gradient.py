"""``t.grad``: reading warns as in PyTorch where it is never filled; assignment checks shape, dtype and device."""

from __future__ import annotations

from typing import Any

from .. import observe
from ..switches.state import STATE
from ..warning import warn
from .base import LAZY, TensorBase
from .dtypes import c_name, scalar_name

_NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
    "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
    "the leaf Tensor instead."
)


def read_grad(t: Any) -> Any:
    """``t.grad``: the accumulated gradient, or ``None``."""
    meta, fn = t._meta, t._fn
    if observe.observers:
        observe.notify("read", t)
    if fn is LAZY:
        if meta.view is None:
            return meta.grad
        fn = meta.view.fn  # as it is: reading .grad does not bring a stale view up to date
    if fn is not None and fn is not LAZY and (meta is None or (not meta.retains_grad and meta.grad is None)):
        warn(_NON_LEAF_GRAD)
        return None
    return None if meta is None else meta.grad


def assign_grad(t: Any, value: Any = None) -> None:
    """``t.grad = value``, or ``del t.grad``."""
    if value is not None:
        _check(t, value)
    if observe.observers and (observe.HEAR_UPDATES or STATE.updating is not observe.PRESENT):
        observe.notify("grad_set", t, value)
    (t._meta or t.need_meta()).grad = value


def _check(t: Any, value: Any) -> None:
    """``TypeError`` or ``RuntimeError`` unless ``value`` may become ``t.grad``."""
    if not isinstance(value, TensorBase):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is t:
        raise RuntimeError("can't assign Variable as its own grad")
    if value._sig.shape != t._sig.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value._sig.shape)}' "
            f"to a tensor of size '{list(t._sig.shape)}'. Please ensure that the gradient and the tensor are the "
            "same size"
        )
    wanted = ... if t._meta is None else t._meta.grad_dtype
    want = t._sig.dtype if wanted is ... else wanted
    if want is not None and value._sig.dtype is not want:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{c_name(value._sig.numpy)}' to a tensor with grad_dtype "
            f"'{scalar_name(want.numpy)}'. The "
            "gradient must match the tensor's grad_dtype (defaults to the tensor's dtype)."
        )
    if value.device != t.device:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
            f"'{t.device.type}'. Please ensure that the gradient and the tensor are on the same device"
        )


def clear_gradient(t: Any, set_to_none: bool) -> None:
    """``zero_grad`` for one parameter: set ``.grad`` to None, or to zeros without history."""
    if t.grad is None:
        return
    if set_to_none:
        t.grad = None
        return
    if t.grad.grad_fn is not None:
        t.grad.detach_()
    else:
        t.grad.requires_grad_(False)
    t.grad.zero_()
