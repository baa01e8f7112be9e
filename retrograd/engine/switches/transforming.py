"""What programs may not do beneath a function transform (``torch.func``), which sees to derivatives itself."""

from __future__ import annotations

from typing import Any

from .state import STATE


def write_in_transform(t: Any, name: str) -> None:
    """Tell the transforms that an operator is about to change a tensor; they raise ``RuntimeError`` if it may not."""
    for level in reversed(STATE.levels):
        level.about_to_write(t, name)


def history_in_transform(t: Any, *, of_its_level: bool = False) -> tuple[Any, bool]:
    """What is left of a tensor's history when it is cut: where its gradients go, and whether it keeps its tangent.

    The innermost level that is differentiated is cut, or with ``of_its_level`` the one that the tensor was made in.
    """
    for level in reversed(STATE.levels):
        if level.cut is not None and (not of_its_level or level.made(t)):
            return level.cut.left_of(t)  # type: ignore[no-any-return]
    return None, False


def made_in_derivative(t: Any) -> bool:
    """Whether the innermost of the transforms that a tensor belongs to is a derivative, and no ``vmap``."""
    return next((level.cut is not None for level in reversed(STATE.levels) if level.made(t)), False)


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
