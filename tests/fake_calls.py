"""Our operators called on stand-ins without data, as ``torch.compile`` would call them."""

from __future__ import annotations

from typing import Any

from retrograd.engine.custom_op.fake_mode import fake_like, fake_mode


def on_fakes(op: Any, *args: Any) -> Any:
    """Call one of our operators on stand-ins for tensors."""
    with fake_mode():
        return op(*(fake_like(a) if hasattr(a, "requires_grad") else a for a in args))
