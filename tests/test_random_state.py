"""States of random generators: read, set, cloned and pickled, held against PyTorch."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from both_engines import differential, raises


@differential
def test_states_of_generators(torch: Any) -> Any:
    """A state is a tensor of bytes; set again, or on a clone, it gives the same numbers."""
    torch.manual_seed(3)
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    with torch.random.fork_rng(devices=[]):
        torch.rand(5)
    g = torch.Generator().manual_seed(1)
    h = g.clone_state()
    return [
        state.dtype, state.dim(), torch.equal(a, torch.rand(3)), str(g.device), h.initial_seed(),
        torch.equal(torch.rand(2, generator=g), torch.rand(2, generator=h)),
        torch.equal(torch.rand(2, generator=pickle.loads(pickle.dumps(g))), torch.rand(2, generator=copy.deepcopy(g))),
        raises("", g.set_state, torch.ones(3)),
        raises("the input RNG state size to be 3", g.set_state, torch.ones(3, dtype=torch.uint8)),
        torch.default_generator.initial_seed(),
    ]  # fmt: skip
