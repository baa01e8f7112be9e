"""Operators: a folder per family, with the rows of the table, and in ``functions/`` those functions written by hand.

Where PyTorch has overloads, compositions or other functions without a row of their own, such a function brings the
arguments into the form of a row.  Everything is found by listing: rows first, which the functions look up.
"""

from __future__ import annotations

import importlib
import pkgutil

from ..tensors import parameter, tensor  # noqa: F401 - the classes are written into the code of rows

_FOUND = [module.name for module in pkgutil.walk_packages(__path__, f"{__name__}.")]

for _module in sorted(_FOUND, key=lambda name: (".functions" in name, name)):
    importlib.import_module(_module)
