"""Imported by a Python process that a recorded program starts: prepares it to be recorded.

It removes its traces from the environment and the import path, and imports the user's own ``sitecustomize`` in its
place. Since every Python process runs it, it imports next to nothing.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # typing takes longer to import than all that is done here
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_VARIABLE, _PATH = "RETROGRAD_CHILD_OF", "PYTHONPATH"
_AWAITED = ("multiprocessing", "subprocess", "torch", "retrograd")
"""Modules whose import means that there may be something to record, or processes that start."""
_HELPERS = ("multiprocessing.resource_tracker",)
"""Modules that Python's own helper processes run."""


class _Awaits:
    """A finder, first on ``sys.meta_path``, that calls ``begin`` once one of the modules has been imported."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin
        self._running = 0

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Let the other finders find the module, and note when its loader has executed it."""
        if name not in _AWAITED:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path[:] if finder is not self)
        spec = next((one for one in found if one is not None), None)
        loader: Any = None if spec is None else spec.loader
        if loader is not None and hasattr(loader, "__dict__"):
            run = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                vars(loader).pop("exec_module", None)
                self._running += 1
                try:
                    run(module)
                finally:
                    self._running -= 1
                if not self._running and self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self._begin()

            loader.exec_module = exec_module
        return spec


def _take_away(here: str) -> str:
    """Remove our variables from the environment and ``sys.path``, but not from what child processes inherit."""
    instructions, paths = os.environ[_VARIABLE], os.environ.get(_PATH, "")
    del os.environ[_VARIABLE]
    first, *rest = paths.split(os.pathsep, 1)
    if os.path.abspath(first) == here:
        os.environ.pop(_PATH)
        os.environ.update(dict.fromkeys([_PATH] * len(rest), "".join(rest)))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != here]
    sys.path_importer_cache.pop(here, None)
    os.putenv(_VARIABLE, instructions)
    os.putenv(_PATH, paths)
    return instructions


def _begin(instructions: str, name: str, path: list[str]) -> None:
    """Load the recorder; if that fails, the program runs unrecorded."""
    theirs = sys.path[:]
    sys.path[:] = [instructions.split("\n")[2], *path]
    try:
        __import__("retrograd.cli.children.waiting", fromlist=["wait"]).wait(instructions, name)
    except Exception as failure:
        print(f"retrograd: process {os.getpid()} is not recorded: {failure}", file=sys.stderr)
    finally:
        sys.path[:] = theirs


def _start() -> None:
    instructions = _take_away(os.path.dirname(os.path.abspath(__file__)))
    folder, ticket = instructions.split("\n")[:2]
    if any(helper in word for word in sys.orig_argv[1:3] for helper in _HELPERS):
        return
    name = f"{time.monotonic_ns():020}.{os.getpid()}.{ticket}"
    os.close(os.open(os.path.join(folder, f"{name}.seen"), os.O_CREAT | os.O_WRONLY, 0o600))
    path = sys.path[:]
    sys.meta_path.insert(0, _Awaits(lambda: _begin(instructions, name, path)))


if _VARIABLE in os.environ:
    try:
        _start()
    except (OSError, ValueError):  # the program is over, and its folder gone
        pass
    sys.modules.pop(__name__, None)
    __import__(__name__)
