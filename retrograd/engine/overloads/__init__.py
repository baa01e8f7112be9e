"""Hand-written public functions: torch's overloads, compositions and creation; each file publishes its own.

One folder per family of functions, one file per smaller group; every file in every folder is found by listing.
"""

from __future__ import annotations

import importlib
import pkgutil

from .. import ops

for _module in sorted(m.name for m in pkgutil.walk_packages(__path__, f"{__name__}.")):
    importlib.import_module(_module)

__all__ = ["ops"]
