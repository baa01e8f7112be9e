"""``TorchFunctionMode``: a context that handles every public function called in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import overrides, wrappers


class TorchFunctionMode:
    """Base of modes: write ``__torch_function__(self, func, types, args=(), kwargs=None)`` and enter an instance.

    While it is asked the mode is off, so it may call ``func`` itself; modes entered before it are asked then.
    """

    __module__ = "retrograd.overrides"

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """To be written by subclasses."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        wrappers.install()
        overrides.HERE.modes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        overrides.HERE.modes.pop()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance, to be entered; the old spelling."""
        return cls(*args, **kwargs)


def current_modes() -> list[Any]:
    """The modes of this thread, outermost first."""
    return list(overrides.HERE.modes)
