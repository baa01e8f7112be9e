"""Plug-ins (renderers, reports, checks, sources): modules of a folder that offer an object under an agreed name."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any


def plugins_in(folder: ModuleType, attribute: str) -> dict[str, Any]:
    """Import the modules of a package and return their objects called ``attribute``, sorted by module name."""
    names = sorted(module.name for module in pkgutil.iter_modules(folder.__path__))
    modules = {name: importlib.import_module(f"{folder.__name__}.{name}") for name in names}
    return {name: getattr(module, attribute) for name, module in modules.items() if hasattr(module, attribute)}
