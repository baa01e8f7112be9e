"""The PyTorch that the program imported.

It is kept from its first use on: a program may replace it in ``sys.modules``, or remove it, and still use the PyTorch
that it has; our replacements in that one must keep working, and be undone.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ....locks import once


class _Library:
    """Holds the module, once it was requested."""

    @once
    def torch(self) -> Any:
        """The module ``torch``; the program must have imported it."""
        return sys.modules["torch"]


LIBRARY = _Library()
"""The one PyTorch of this process."""


def loaded_torch() -> Any:
    """Return the torch module if the program has imported it completely, else None.

    Other modules with its name, such as a test's substitute, or our own package, are not PyTorch.
    """
    torch = vars(LIBRARY).get("torch") or sys.modules.get("torch")
    if not isinstance(torch, ModuleType) or torch.__name__ != "torch":
        return None
    return torch if all(name in vars(torch) for name in ("_C", "Tensor", "autograd")) else None
