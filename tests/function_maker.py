"""Makes custom Functions in one line, for tests that need many."""

from __future__ import annotations

from typing import Any


def custom(torch: Any, name: str = "F", base: Any = None, **members: Any) -> Any:
    """A subclass of ``torch.autograd.Function``; callables become static methods."""
    kept = {k: staticmethod(v) if callable(v) else v for k, v in members.items()}
    return type(name, (base or torch.autograd.Function,), {"__module__": __name__, **kept})
