"""What each tensor of a recording depends on, looked up in one table for all of them."""

from __future__ import annotations

import random

import retrograd as rg
from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.diagnosis.queries.dependence import _Since
from retrograd.inspect.diagnosis.rules.targets import learned_weights
from retrograd.inspect.process.recorder import recording


def test_bits_come_together_over_rows() -> None:
    """Before a row a number has the bits of all earlier rows, as adding them up anew each time says."""
    draw = random.Random(3)
    table, added = _Since(), []
    for row in sorted(draw.sample(range(100), 40)):
        number, bits = draw.randrange(4), draw.choice([0, 1, 2, 3, 4])
        table.add(number, row, bits)
        added.append((number, row, bits))
    for number in range(5):
        for before in range(101):
            expected = 0
            for one, row, bits in added:
                expected |= bits if one == number and row < before else 0
            assert table.before(number, before) == expected


def test_a_long_recurrence_costs_no_walk_in_each_turn(monkeypatch):
    """Where no loss has a logarithm, no weight of one is looked for, however many products a loop has."""
    asked = []
    monkeypatch.setattr(learned_weights, "compared_with_data", lambda *given: asked.append(given))
    decay, state = rg.tensor(0.9, requires_grad=True), rg.zeros(())
    with recording(level="full") as recorded:
        for x in rg.linspace(0, 1, 20):
            state = decay * state + (1 - decay) * x
        state.square().backward()

    assert [finding.kind for finding in diagnose(recorded)] == []
    assert asked == []


def test_a_long_loop_of_likelihoods_is_looked_at_in_a_few_turns(monkeypatch):
    """As many turns of a line are looked at in a loop of forty as in one of twenty."""
    asked = []
    monkeypatch.setattr(learned_weights, "_is_learned", lambda flow, *given: asked.append(given))
    counts = []
    for turns in (20, 40):
        asked.clear()
        rate, total = rg.tensor(0.1, requires_grad=True), 0.0
        with recording(level="full") as recorded:
            for _ in range(turns):
                total = total - rg.log(rate) * (1 - rate)
            total.backward()
        diagnose(recorded)
        counts.append(len(asked))

    assert counts[0] == counts[1] > 0
