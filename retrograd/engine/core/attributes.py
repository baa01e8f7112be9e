"""Error messages for attributes of tensors that cannot be set or deleted.

Misspelt ones are left to Python, which says "Did you mean" under the traceback: a ``__getattr__`` would make every
reading of an attribute slower (80 ns in place of 17).
"""

from __future__ import annotations

from typing import Any, NoReturn

_KEPT = {
    "data": "Deleting tensor data is not allowed. Delete tensor instead!",
    "requires_grad": "requires_grad must be a bool",
    "_grad_fn": "Deletion of _grad_fn not allowed. Detach tensor instead!",
    "_backward_hooks": "Deletion of _backwards_hooks not allowed!",
}
"""Attributes that can be set but not deleted."""


def guard(cls: Any) -> None:
    """Give every property without a setter one that raises, and likewise deleters.

    Setters beside the getter, since reading a property of a subclass of ``property`` is slower.
    """
    for name, value in list(vars(cls).items()):
        if not isinstance(value, property):
            continue
        made = value if value.fset is not None else value.setter(_refusal(name))
        if value.fdel is None:
            made = made.deleter(_kept(name) if name in _KEPT else _refusal(name))
        setattr(cls, name, made)


def _refusal(name: str) -> Any:
    def refuse(self: Any, *_: Any) -> NoReturn:
        raise AttributeError(f"attribute '{name}' of '{type(self).__name__}' objects is not writable")

    return refuse


def _kept(name: str) -> Any:
    def refuse(self: Any) -> NoReturn:
        raise RuntimeError(_KEPT[name])

    return refuse
