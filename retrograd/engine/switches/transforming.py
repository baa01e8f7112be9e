"""What programs may not do beneath a function transform (``torch.func``), which sees to derivatives itself."""

from __future__ import annotations

from typing import Any

from .state import STATE


def write_in_transform(t: Any, name: str) -> None:
    """Tell the transforms that an operator is about to change a tensor; they raise ``RuntimeError`` if it may not."""
    for level in reversed(STATE.levels):
        level.about_to_write(t, name)


def refuse_method_in_transform(name: str, also: str = "") -> None:
    """``RuntimeError`` for a method of tensors that is called beneath a transform."""
    if STATE.transforms:
        raise RuntimeError(
            f"You are attempting to call Tensor.{name}(){also} inside of a function being transformed by a functorch "
            "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, "
            f"jacfwd, hessian) or call {name}() outside of a function being transformed instead."
        )


def refuse_backward_in_transform() -> None:
    """``RuntimeError`` for a backward that is called beneath a transform."""
    if STATE.transforms:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
