"""What the modules inside a module are called, for engines whose modules have ``named_modules()``."""

from __future__ import annotations

import weakref
from typing import Any


class Root:
    """A module that was called while no other module was running: names of everything in it."""

    __slots__ = ("name", "paths", "ref")

    def __init__(self, module: Any, name: str) -> None:
        self.ref = weakref.ref(module)
        self.name = name
        self.paths: dict[int, str] = {}

    def path(self, module: Any) -> str | None:
        """Return the scope of one of its modules: ``model/layers/0/linear1``."""
        return self.paths.get(id(module))

    def refresh(self) -> None:
        """Read the names again; modules were perhaps added."""
        self.paths = {}
        module = self.ref()
        if module is None:
            return
        for dotted, inner in module.named_modules():
            self.paths[id(inner)] = "/".join([self.name, *dotted.split(".")]) if dotted else self.name
