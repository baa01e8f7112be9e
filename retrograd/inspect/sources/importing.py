"""Calls back when a module has been fully imported, and then leaves the import system unchanged."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class AfterImport:
    """A finder, first on ``sys.meta_path``, until the modules are imported or ``end`` is called."""

    def __init__(self, name: str, callback: Callable[[], None], **others: Callable[[], None]) -> None:
        """``others`` are further modules, by name, with the callback of each."""
        self._waiting = {name: callback, **others}
        self._asking: set[int] = set()
        """Threads in which the other finders are being asked."""

    def begin(self) -> None:
        """Start waiting."""
        sys.meta_path.insert(0, self)

    def end(self) -> None:
        """Stop waiting."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the other finders find the module, and note when its loader has executed it."""
        thread = threading.get_ident()
        if name not in self._waiting or thread in self._asking:
            return None
        self._asking.add(thread)  # of several that wait, each asks the others
        try:
            found = (finder.find_spec(name, path, target) for finder in list(sys.meta_path) if finder is not self)
            spec = next((one for one in found if one is not None), None)
        finally:
            self._asking.discard(thread)
        if spec is not None and spec.loader is not None:
            self._call_after(spec.loader, name)
        return spec

    def _call_after(self, loader: Any, name: str) -> None:
        """Shadow ``exec_module`` on this one loader until it has been called."""
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)  # another one that waits may have put its own there
            run(module)
            callback = self._waiting.pop(name, None) if self in sys.meta_path else None
            if not self._waiting:
                self.end()
            if callback is not None:
                callback()

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader with slots: its module goes unnoticed
            pass
