"""What is there because PyTorch has it: what a tensor says of itself, settings and saving, old and private names.

No row of the table stands here.  One folder per family of functions, one file per smaller group; each file publishes
its own, and all are found by listing.
"""

from __future__ import annotations

import importlib
import pkgutil

from .. import ops

for _module in sorted(m.name for m in pkgutil.walk_packages(__path__, f"{__name__}.")):
    importlib.import_module(_module)

__all__ = ["ops"]
