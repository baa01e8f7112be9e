"""Error messages for refused writes to views, by creation tag."""

from __future__ import annotations

from ..core.base import CreationTag, View
from ..nodes.node import edge_parts, suffix_free

_ADVICE = {
    CreationTag.NO_GRAD: (
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
        "both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
        "tracked) or both outside (if you want the inplace to be tracked)."
    ),
    CreationTag.INFERENCE: (
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving "
        "both the view and the inplace either both inside the inference_mode block (if you don't want the inplace to "
        "be tracked) or both outside (if you want the inplace to be tracked)."
    ),
    CreationTag.MULTI_OUTPUT: (
        " This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one."
    ),
    CreationTag.IN_CUSTOM_FUNCTION: (
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function."
    ),
}
_MODE_NAMES = {CreationTag.NO_GRAD: ("no_grad mode", "with grad mode enabled"),
               CreationTag.INFERENCE: ("inference mode", "in normal mode")}  # fmt: skip


def forbidden_view_message(view: View, what: str) -> str:
    """Why a write to (or through the base of) this view is refused."""
    origin = ""
    if view.fn is not None:
        node, nr = edge_parts(view.fn)
        origin = f"Output {nr} of {suffix_free(type(node).__name__)} is a view"
    if view.tag in _MODE_NAMES or view.fn is None:
        mode, when = _MODE_NAMES.get(view.tag, _MODE_NAMES[CreationTag.NO_GRAD])
        prefix = f"{origin} of a view which was created in {mode}" if origin else f"A view was created in {mode}"
        text = f"{prefix} and {what} modified inplace {when}."
    else:
        text = f"{origin} and {what} modified inplace."
    return text + _ADVICE[view.tag]
