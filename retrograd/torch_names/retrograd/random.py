"""``torch.random``: the generators."""

from typing import Any

from .engine.methods import FUNCTIONS
from .engine.random import default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, set_rng_state

seed = FUNCTIONS["seed"]


def thread_safe_generator() -> Any:
    """The generator of this thread of a ``DataLoader``: None, since ours reads in the thread that asks."""
    return None


__all__ = [
    "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
    "thread_safe_generator",
]  # fmt: skip
