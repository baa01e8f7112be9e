"""Who keeps graphs alive is asked of the interpreter: lists, attributes, caches, closures, stored exceptions."""

from __future__ import annotations

from pathlib import Path

import pytest
from bug_programs import record

from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.program.holders import holder_of

HEAD = """import functools
import torch
w = torch.ones(3, requires_grad=True)
def turn(step):
    loss = (w * torch.rand(3)).sum()
    loss.backward()
    return loss
"""
KEEPING = {
    "the list history": "history = []\nfor step in range(8):\n    history.append(turn(step))\n",
    "the dict seen of a Book": (
        "class Book:\n    def __init__(self):\n        self.seen = {}\nbook = Book()\n"
        "for step in range(8):\n    book.seen[step] = turn(step)\n"
    ),
    "the cache of remembered (functools.lru_cache)": (
        "@functools.lru_cache(maxsize=None)\ndef remembered(step):\n    return turn(step)\n"
        "for step in range(8):\n    remembered(step)\n"
    ),
    "the list kept of main()": (
        "def main():\n    kept = []\n    for step in range(14):\n        kept.append(turn(step))\nmain()\n"
    ),
    "the list rows of a Tally": (
        "class Tally:\n    def __init__(self):\n        self.rows, self.last = [], None\n"
        "    def note(self, **row):\n        self.rows.append(row)\n        self.last = row['loss']\ntally = Tally()\n"
        "for step in range(8):\n    tally.note(loss=turn(step))\n"
    ),
    "a default argument of": (
        "later = []\nfor step in range(8):\n    def said(value=turn(step)):\n        return value\n"
        "    later.append(said)\n"
    ),
}


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
@pytest.mark.parametrize("holder", KEEPING)
def test_holder_of_a_growing_graph_is_named(holder: str, engine: str, tmp_path: Path) -> None:
    """The finding says what holds the results of all steps, however it is spelled."""
    if engine == "torch":
        pytest.importorskip("torch")
    found = diagnose(record(HEAD + KEEPING[holder], tmp_path, engine=engine))

    assert found[0].kind == "graph-growth"
    assert holder in found[0].message


def test_what_a_running_function_uses_is_not_held() -> None:
    """A variable of a function that runs holds nothing: it is in use."""
    used = object()

    assert holder_of(used) == ""
