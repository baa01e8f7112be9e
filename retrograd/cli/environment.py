"""Saves the state of this process before a program runs in it, and restores it while results are written."""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

# What python put first on the path belongs to whoever started this process: nothing of ours is found there.
_OWN_PATH = sys.path[:] if sys.flags.safe_path else sys.path[1:]
_BUILTINS = vars(builtins).copy()
_PROGRAM = "__main__"


class Environment:
    """Snapshot of this process's modules, paths and finders.

    The program's folder may hold a ``rich.py``; its own ``open`` or ``print`` may do something else; it may have
    emptied ``sys.modules`` or put other modules there.
    """

    def __init__(self) -> None:
        self._table, self._modules = sys.modules, sys.modules.copy()
        self._finders, self._hooks = sys.meta_path[:], sys.path_hooks[:]

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Restore the snapshot inside the block; afterwards the process is as the program left it."""
        theirs = sys.path, sys.stdout, sys.modules, sys.meta_path, sys.path_hooks
        their_builtins, their_table = vars(builtins).copy(), self._table.copy()
        vars(builtins).update(_BUILTINS)
        sys.path, sys.stdout, sys.modules = list(_OWN_PATH), sys.__stdout__, self._table
        sys.meta_path, sys.path_hooks = self._finders[:], self._hooks[:]
        self._find_only(self._usable(theirs[0]))
        try:
            yield
        finally:
            self._find_only(their_table)
            sys.path, sys.stdout, sys.modules, sys.meta_path, sys.path_hooks = theirs
            vars(builtins).update(their_builtins)

    def _usable(self, path: list[Any]) -> dict[str, ModuleType]:
        """Return the modules of the snapshot and those loaded since, except any that hide a module of ours.

        Threads of the program may still run: what a library enters below its name stays, or they would load it anew.
        """
        folders = tuple(os.path.join(folder, "") for folder in path if _is_text(folder) and folder not in _OWN_PATH)
        table = self._table.copy()
        hiding = {name for name, module in table.items() if _is_theirs(module, folders) and _is_ours(name, table)}
        since = {name: module for name, module in table.items() if hiding.isdisjoint(_with_those_around(name))}
        main = {_PROGRAM: self._table[_PROGRAM]} if _PROGRAM in self._table else {}
        return since | self._modules | main

    def _find_only(self, modules: dict[str, ModuleType]) -> None:
        """Let the import system find these modules and no others; at no moment does it find fewer."""
        self._table.update(modules)
        for name in self._table.keys() - modules.keys():
            del self._table[name]


def _is_theirs(module: Any, folders: tuple[str, ...]) -> bool:
    """Whether the program put this module into ``sys.modules``, or has its file; runs none of its code."""
    if not issubclass(type(module), ModuleType):
        return True
    spec = vars(module).get("__spec__")
    origin = getattr(spec, "origin", None)
    return spec is None or (isinstance(origin, str) and origin.startswith(folders))


def _is_ours(name: str, table: dict[str, ModuleType]) -> bool:
    """Whether a module of this name exists where ours are: on our path, or in its parent package."""
    around = name.rpartition(".")[0]
    folders = _folders_of(table.get(around)) if around else _OWN_PATH
    return PathFinder.find_spec(name, folders) is not None


def _folders_of(package: object) -> list[str]:
    """Return the folders of a package's modules; runs no code of the program."""
    found = vars(package).get("__path__") if issubclass(type(package), ModuleType) else None
    return [folder for folder in found if _is_text(folder)] if type(found) is list else []


def _with_those_around(name: str) -> list[str]:
    """Return the name of a module and those of its parent packages."""
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def _is_text(value: object) -> bool:
    """Whether an entry of ``sys.path`` is text: a program may put anything there."""
    return type(value) is str
