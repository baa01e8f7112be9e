"""Runs the command with its random generators seeded alike in every process, perhaps on a changed program."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import numpy as np

from .main import main
from .overlay import lay_over

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
