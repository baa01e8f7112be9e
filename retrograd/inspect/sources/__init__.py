"""Engines that can be inspected, one module each; they are found by listing this folder."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

from ..plugins import plugins_in

if TYPE_CHECKING:  # what is light here, such as patches, is imported without the sources
    from .base import Source


@functools.cache
def sources() -> tuple[Source, ...]:
    """Return the sources of this folder: what its modules offer as ``SOURCE``, in the order of their names."""
    return tuple(plugins_in(sys.modules[__name__], "SOURCE").values())


def source_of(obj: object) -> Source | None:
    """Return the source whose engine an object belongs to."""
    for source in sources():
        if source.owns(obj):
            return source
    return None
