"""What a recording costs and holds: equal steps share their columns, a full one keeps the last graph."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.inspect.graphs.graph import EDGE_COLUMNS, NODE_COLUMNS
from retrograd.inspect.process.recorder import recording
from retrograd.inspect.recording import kept_snapshots


def train(steps):
    """A loop whose steps all have the same graph."""
    weight = rg.ones(3, requires_grad=True)
    for _ in range(steps):
        loss = (weight * 2).exp().sum()
        loss.backward()


def test_equal_steps_share_their_columns():
    """The steps of a loop differ in nothing but their label, and their columns are the same objects."""
    with recording() as record:
        train(3)
    first, _, last = record.graphs

    assert (first.label, last.label) == ("backward 0", "backward 2")
    for column in (*NODE_COLUMNS, *EDGE_COLUMNS):
        assert getattr(first, column) is getattr(last, column), column


def test_two_runs_give_the_same():
    """Recordings of two runs are equal but for the time."""
    recordings = []
    for _ in range(2):
        with recording(script="x.py") as record:
            train(2)
        record.created = ""
        recordings.append(record)

    assert recordings[0] == recordings[1]
    assert recordings[0].script == "x.py"


def test_full_recording(monkeypatch):
    """Beyond the limit only the latest graph is kept in place of the one before; events tell which are there."""
    monkeypatch.setattr(kept_snapshots, "MAX_ROWS", 10)
    with recording() as record:
        weight = rg.ones(3, requires_grad=True)
        for width in range(1, 8):
            h = weight
            for _ in range(width):
                h = h * 2
            h.sum().backward()
    sizes = [len(snapshot) for snapshot in record.graphs]
    kept = [event.data["snapshot"] for event in record.events if "snapshot" in event.data]

    assert sizes == [3, 4, 5, 9]
    assert kept == [0, 1, 2, 3]
    assert record.graphs[-1].label == "backward 6"


def test_broken_program_text():
    """An exception whose message cannot be made is recorded without one."""

    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    with pytest.raises(Broken), recording() as record:
        raise Broken

    data = record.events[-1].data
    assert (data["type"], data["message"]) == ("Broken", "")
    assert record.events[-1].source.function == "test_broken_program_text"
