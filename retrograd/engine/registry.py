"""The operator table by name, and ``F``, through which reverse rules call operators."""

from __future__ import annotations

from typing import Any

OPS: dict[str, Any] = {}
"""All operator rows (``OpDef``) by name."""


class Functions:
    """The operators by name, for use in rules: ``F.cos(x)`` works on arrays and on tensors."""

    def __getattr__(self, name: str) -> Any:
        try:
            op = OPS[name]
        except KeyError:
            raise AttributeError(f"no operator row {name!r}") from None
        setattr(self, name, op)
        return op


F = Functions()
