"""Names of PyTorch that are not operators: attributes of tensors, settings, saving, old and private names.

There is a folder for each family of functions and a file for each smaller group. Each file publishes its own names, and
all are found by listing.
"""

from __future__ import annotations

import importlib
import pkgutil

from .. import ops

for _module in sorted(m.name for m in pkgutil.walk_packages(__path__, f"{__name__}.")):
    importlib.import_module(_module)

__all__ = ["ops"]
