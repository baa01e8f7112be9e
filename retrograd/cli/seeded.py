"""Runs the command with equal seeds in every process, on the program or on a changed copy of it."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from ..inspect.program.texts import keep_text, kept_text
from .main import main


def lay_over(texts: str) -> None:
    """Let the files that a JSON object names read as it says, for what runs the script and for imports."""
    with open(texts, encoding="utf-8") as stream:
        found: dict[str, str] = json.load(stream)
    for file, text in found.items():
        keep_text(file, text.encode("utf-8", "surrogatepass"))
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds the modules whose files read otherwise."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that reads otherwise, nothing for others."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None and kept_text(os.path.abspath(spec.origin)) is not None:
            spec.loader = _Loader(name, spec.origin)
            return spec
        return None


class _Loader(SourceFileLoader):
    """Loads a module from the text that its file reads as; compiled files are left alone."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text."""
        path = self.get_filename(fullname)
        return compile(kept_text(os.path.abspath(path)) or "", path, "exec", dont_inherit=True)


SEED = 0


def start(texts: str = "") -> None:
    """Seed ``random``, NumPy's global generator and, once the program imports it, PyTorch; ours has a fixed seed.

    ``texts`` is a JSON file that says how files of the program are to read, in place of what is on disk.
    """
    if texts:
        lay_over(texts)
    random.seed(SEED)
    np.random.seed(SEED)
    sys.meta_path.insert(0, _SeedsTorch())
    main()


class _SeedsTorch:
    """Import hook that seeds ``torch`` when its import has finished."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of ``torch``, nothing for other modules."""
        spec = PathFinder.find_spec(name, path, target) if name == "torch" else None
        if spec is not None and spec.loader is not None:
            _seed_after(spec.loader)
        return spec


def _seed_after(loader: Any) -> None:
    """Shadow ``exec_module`` on this one loader."""
    run = loader.exec_module

    def exec_module(module: Any) -> None:
        run(module)
        module.manual_seed(SEED)

    try:
        loader.exec_module = exec_module
    except AttributeError:  # a loader with slots: the program seeds for itself
        pass
