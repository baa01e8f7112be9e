"""``scope``: names a part of the program, which drawings show as a box."""

from __future__ import annotations

from . import observe
from .switches.modes import ModeContext


class scope(ModeContext):  # noqa: N801 - written as no_grad is
    """Name what is computed inside: ``with rg.scope("encoder"):``, or ``@rg.scope("encoder")`` on a function.

    Scopes nest, also with modules; ``"a/b"`` is a scope ``b`` in ``a``.  Outside of a recording nothing happens.
    Raises ``TypeError`` for a name that is not a string and ``ValueError`` for an empty one.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"scope(): the name must be a string, not {type(name).__name__}")
        if not name.strip("/"):
            raise ValueError(f"scope(): {name!r} is no name; give one letter at least")
        self.name = name.strip("/")
        self._notified: list[bool] = []

    def clone(self) -> scope:
        """Return a fresh context with the same name."""
        return scope(self.name)

    def __enter__(self) -> None:
        watched = bool(observe.observers)
        self._notified.append(watched)
        if watched:
            observe.notify("scope_began", self.name)

    def __exit__(self, *exc: object) -> None:
        if self._notified.pop() and observe.observers:
            observe.notify("scope_ended", self.name)
