"""States of random generators: read, set, cloned and pickled, held against PyTorch."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import pytest
from both_engines import differential, raises

import retrograd
from retrograd.engine.streams.state import Twister


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


@differential
def test_seeds(torch: Any) -> Any:
    """Seeds are numbers of 64 bits, negative ones from the end; others are refused."""
    g, seeds = torch.Generator(), (0, -1, 2**32 + 5, -(2**63), 2**64 - 1)
    zeros = torch.zeros(g.get_state().numel(), dtype=torch.uint8)
    return [
        [(g.manual_seed(seed).initial_seed(), torch.rand(2, generator=g)) for seed in seeds],
        [torch.manual_seed(seed).initial_seed() for seed in (1.5, "3", True)],
        [raises("Overflow when unpacking long", g.manual_seed, seed) for seed in (2**64, -(2**63) - 1)],
        [raises("manual_seed expected a long", g.manual_seed, seed) for seed in (1.5, "3", True)],
        raises("Invalid mt19937 state", g.set_state, zeros),
    ]


@differential
def test_states_after_drawing_nothing_new(torch: Any) -> Any:
    """A state tells of the second normal number, which is drawn with the first, and whether it has been used."""
    g = torch.Generator().manual_seed(2)
    torch.randn(1, generator=g)
    half = g.get_state()
    second = torch.randn(1, generator=g)
    whole = g.get_state()
    g.set_state(half)
    return [torch.equal(half, whole), torch.equal(torch.randn(1, generator=g), second), half, whole]


def test_states_without_reach_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state that is read out of memory is the one that NumPy tells, and either way of setting it gives the same."""
    generator = retrograd.Generator().manual_seed(7)
    retrograd.rand(1000, generator=generator)
    quick = generator.get_state()
    monkeypatch.setattr(Twister, "_memory", None)
    slow = generator.clone_state()
    assert slow.get_state().tolist() == quick.tolist()
    assert retrograd.rand(700, generator=slow).tolist() == retrograd.rand(700, generator=generator).tolist()


def test_threads_share_a_generator() -> None:
    """Threads that draw at once get each number once, whichever thread gets it."""
    generator, drawn = retrograd.Generator().manual_seed(3), []

    def draw() -> None:
        for _ in range(50):
            drawn.extend(retrograd.rand(7, generator=generator).tolist())
            generator.get_state()

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(drawn) == sorted(retrograd.rand(1400, generator=generator.manual_seed(3)).tolist())
