"""Hand-written public functions: torch's overloads, compositions and creation; each file publishes its own."""

from __future__ import annotations

import importlib
import pkgutil

from .. import ops

for _module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["ops"]
