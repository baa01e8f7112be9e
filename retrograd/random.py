"""The face of ``torch.random``: re-exports only."""

from .engine.random import default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, set_rng_state
from .engine.table.methods import FUNCTIONS

seed = FUNCTIONS["seed"]

__all__ = [
    "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
]  # fmt: skip
