"""A mistake in a row of the operator table is an error that names the row and what is wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd  # noqa: F401 (the table is complete)
from retrograd.engine.core.registry import OPS
from retrograd.engine.table.facts import RowError
from retrograd.engine.table.rows import function


def _forward(self: Any, other: Any) -> Any:
    return np.add(self, other)


def _rule(g: Any) -> Any:
    return g


def _asking_too_much(g: Any, nothing: Any) -> Any:
    return g, nothing


@pytest.mark.parametrize(
    ("name", "said", "what"),
    [
        ("_mistaken", {"selff": _rule}, "'_mistaken': neither arguments nor facts: selff"),
        ("_mistaken", {"self": _rule, "inplaec": True}, "'_mistaken': neither arguments nor facts: inplaec"),
        ("_mistaken", {"self": _rule, "tensors": "self index"}, "'_mistaken': no such argument: index"),
        ("_mistaken", {"self": _asking_too_much}, "'_mistaken': the rule for 'self' asks for 'nothing'"),
        ("mul", {"self": _rule}, "'mul' stands twice"),
    ],
)
def test_a_mistake_names_the_row(name: str, said: dict[str, Any], what: str) -> None:
    """Neither an argument nor a fact; arguments or values that are not there; a name used twice."""
    before = list(OPS.items())
    with pytest.raises(RowError, match=what):
        function(name, _forward, **said)
    assert list(OPS.items()) == before
