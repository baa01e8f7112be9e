"""The operator table by name, and ``F``, through which reverse rules call operators."""

from __future__ import annotations

from typing import Any

import numpy as np

OPS: dict[str, Any] = {}
"""All operator rows (``OpDef``) by name."""


COMPOSITES: dict[str, Any] = {}
"""Functions that replace the row with their name in rules on tensors: torch composes them of other operators."""


class Functions:
    """The operators by name, for use in rules: ``F.cos(x)`` works on arrays and on tensors."""

    def __getattr__(self, name: str) -> Any:
        try:
            op = OPS[name]
        except KeyError:
            raise AttributeError(f"no operator row {name!r}") from None
        found = _either(op, COMPOSITES[name]) if name in COMPOSITES else op.call
        setattr(self, name, found)
        return found


def _either(row: Any, composite: Any) -> Any:
    """What rules call: a row's forward for arrays, the composite for tensors."""
    forward, call_row = row.forward, row.call

    def call(first: Any, *args: Any) -> Any:
        if first.__class__ is np.ndarray:
            return forward(first, *args)
        return composite(first, *args) if hasattr(first, "_sig") else call_row(first, *args)

    return call


F = Functions()
