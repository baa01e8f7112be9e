"""The PyTorch that the program imported.

It is remembered from its first use on: a program may put another module into ``sys.modules`` in its place, or take it
out, and goes on with the PyTorch that it has; what is replaced in that one must still work, and be put back.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ....locks import once


class _Library:
    """Holds the module; until it is asked for, nothing."""

    @once
    def torch(self) -> Any:
        """The module ``torch``; the program must have imported it."""
        return sys.modules["torch"]


LIBRARY = _Library()
"""The one PyTorch of this process."""


def loaded_torch() -> Any:
    """Return the torch module if the program has imported it completely, else None.

    What else goes by its name, such as a stand-in of a test, or ourselves, is not PyTorch.
    """
    torch = vars(LIBRARY).get("torch") or sys.modules.get("torch")
    if not isinstance(torch, ModuleType) or torch.__name__ != "torch":
        return None
    return torch if all(name in vars(torch) for name in ("_C", "Tensor", "autograd")) else None
