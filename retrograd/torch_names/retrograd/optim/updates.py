"""Code that several optimizers share: the step count, weight decay, the entries of sparse gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.methods import FUNCTIONS


def counted(state: dict[str, Any], **start: Callable[[], Any]) -> int:
    """The number of this step, from 1, kept as a tensor; at the first one the state is started."""
    if not state:
        state["step"] = FUNCTIONS["tensor"](0.0)
        state.update((name, make()) for name, make in start.items())
    state["step"] += 1
    return int(state["step"].item())


def zeros_of(p: Any) -> Callable[[], Any]:
    """What makes zeros like a parameter, for ``counted`` to call at the first step."""
    return lambda: p.detach().clone().zero_()


def decayed(p: Any, g: Any, weight_decay: float) -> Any:
    """The gradient with the L2 penalty."""
    return g.add(p, alpha=weight_decay) if weight_decay else g


def places_and_values(g: Any) -> tuple[Any, Any]:
    """An index of the entries that a sparse gradient has, each once, and their values."""
    g = g.coalesce()
    return tuple(g.indices()), g.values()
