"""Records the arguments of ``torch.compile``, and lets the function run uncompiled where that was requested."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .....interpreter import getframe
from ....program.frames import source_line, user_frame
from ....program.signals import let_pass
from ...patches import Patches
from ..library import LIBRARY

_EAGER, _USUAL = "force_eager", "default"


class Compilation:
    """Stands around ``torch.compile`` while somebody watches."""

    def __init__(self, watches: Callable[[], Iterable[Any]], tell: Callable[..., None]) -> None:
        """``tell`` is called with what is compiled, the settings, and the line."""
        self._watches, self._tell = watches, tell
        self._eager = False

    def install(self, patches: Patches) -> None:
        """Begin to listen."""
        patches.wrap(LIBRARY.torch, "compile", self._wrap)

    def uninstall(self) -> None:
        """Let the program's regions be compiled again."""
        if self._eager:
            LIBRARY.torch.compiler.set_stance(_USUAL)
            self._eager = False

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note what is about to be compiled; as a decorator with arguments it calls itself once more with that."""

        def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            if model is not None:
                try:
                    self._note(model, kwargs)
                except Exception as failure:
                    let_pass(failure)
            return original(model, *args, **kwargs)

        return compile

    def _note(self, model: Any, settings: dict[str, Any]) -> None:
        """Tell every recording of a region, unless it runs uncompiled."""
        line = source_line(user_frame(getframe(2)))
        self._tell(model, settings, line)
        watches = list(self._watches())
        if any(watch.sink.eager for watch in watches):
            self._run_eagerly()
        for watch in watches:
            if not self._eager:
                watch.sink.mention(line)
                watch.sink.missed("stance" if watch.sink.eager else "regions", "")

    def _run_eagerly(self) -> None:
        """Ask PyTorch to run regions as they are written; older ones cannot be asked."""
        set_stance = getattr(LIBRARY.torch.compiler, "set_stance", None)
        if set_stance is not None and not self._eager:
            set_stance(_EAGER)
            self._eager = True
