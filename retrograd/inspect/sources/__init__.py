"""Engines that can be inspected, one module each; the folder itself is the list."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from .base import Source


@functools.cache
def sources() -> tuple[Source, ...]:
    """Return the sources of this folder: what its modules offer as ``SOURCE``, in the order of their names."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return tuple(module.SOURCE for module in modules if hasattr(module, "SOURCE"))


def source_of(obj: object) -> Source | None:
    """Return the source whose engine an object belongs to."""
    for source in sources():
        if source.owns(obj):
            return source
    return None
