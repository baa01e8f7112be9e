"""Complex parameters as pairs of real numbers: real and imaginary parts have squares and signs of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.methods import FUNCTIONS

State = dict[str, Any]


def is_complex(p: Any) -> bool:
    """Whether a tensor has complex entries."""
    return bool(p._sig.kind == "c")


def real_of(p: Any) -> Any:
    """A complex tensor as a view of its parts, of shape (..., 2); a real one itself."""
    return FUNCTIONS["view_as_real"](p) if is_complex(p) else p


def update_parts(update: Callable[..., None], states: dict[Any, State], p: Any, g: Any, group: dict[str, Any]) -> None:
    """``update(p, g, group)`` for the parts of ``p`` and ``g``; the state stays complex, as in PyTorch.

    ``states`` are the optimizer's, in which the parts have the parameter's state for as long as they are updated.
    """
    parts, own = real_of(p), states[p]
    state = states[parts] = {name: _parts_of_state(value) for name, value in own.items()}
    try:
        update(parts, real_of(g), group)
    finally:
        del states[parts]
    for name, value in state.items():
        started = name not in own and value.shape == parts.shape
        if started:
            own[name] = FUNCTIONS["view_as_complex"](value)
        elif name not in own or not is_complex(own[name]):  # (parts were written through the view)
            own[name] = value


def _parts_of_state(value: Any) -> Any:
    return real_of(value) if hasattr(value, "_sig") else value
