"""What autograd forbids to write: leaves that require grad, and views whose history it could not rewrite."""

from __future__ import annotations

from ..core.base import LAZY, CreationTag, TensorBase, is_inference
from ..switches.state import STATE
from .view_rules import forbidden_view_message
from .views import grad_fn_of, requires_grad


def check_inplace(t: TensorBase, records: bool) -> None:
    """Refuse a write that autograd forbids; ``records`` says whether the result would require grad."""
    if is_inference(t):
        if not STATE.inference:
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get "
                "a normal tensor before doing inplace update."
            )
        return
    if not (records and STATE.grad_enabled):
        return
    meta = t._meta
    view = meta.view if meta is not None else None
    if view is not None:
        if view.tag != CreationTag.DEFAULT:
            raise RuntimeError(forbidden_view_message(view, "is being"))
        if requires_grad(t) and grad_fn_of(view.base) is None:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation. "
                "Write to a clone instead, or wrap an intended update of the leaf in torch.no_grad()."
            )
    if t._fn is LAZY and requires_grad(t) and grad_fn_of(t) is None:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation. "
            "Write the out-of-place form, or wrap an intended update of the leaf in torch.no_grad()."
        )
