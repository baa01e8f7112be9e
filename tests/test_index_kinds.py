"""``x[index]`` and ``x[index] = value`` for every kind of thing that an index may be, beside PyTorch."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")


def kinds(t: Any) -> dict[str, Any]:
    """Parts of an index, by how one would write them."""
    of = t.tensor
    return {
        "0": 0, "-1": -1, "5": 5, "True": True, "False": False, "None": None, "...": ..., ":": slice(None),
        "::2": slice(None, None, 2), ":tensor(1)": slice(None, of(1)), ":int8(1)": slice(None, np.int8(1)),
        ":1.0": slice(0, 1.0), ":'1'": slice(None, "1"), ":tensor(1.)": slice(None, of(1.0)), "1.0": 1.0, "'a'": "a",
        "int64(0)": np.int64(0), "float32(0)": np.float32(0), "tensor(0)": of(0), "tensor(9)": of(9),
        "int16 tensor": of(1, dtype=t.int16), "uint8 tensor": of(1, dtype=t.uint8), "tensor(True)": of(True),
        "tensor(0.)": of(0.0), "tensor([0, 1])": of([0, 1]), "int32 tensors": of([0, 1], dtype=t.int32),
        "int16 tensors": of([0, 1], dtype=t.int16), "float tensors": of([0.0, 1.0]), "outside": of([0, 7]),
        "mask": of([True, False]), "bytes": of([1, 0], dtype=t.uint8), "other mask": of([True, False, True]),
        "nothing": of([], dtype=t.int64), "[0, 1]": [0, 1], "[]": [], "[0.9]": [0.9], "[[0], [1]]": [[0], [1]],
        "[0, None]": [0, None], "[:]": [slice(None)], "[tensor(0), tensor(1)]": [of(0), of(1)], "[True, False]":
        [True, False], "(0, 1)": (0, 1), "array": np.array([0, 1]), "floats": np.array([0.0, 1.5]),
        "truth": np.array([True, False]), "range": range(2), "{0}": {0},
    }  # fmt: skip


def outcome(t: Any, index: Any, value: Any) -> list[Any]:
    """What is read, or what there is after a write, or the error; and whether there was a warning."""
    x = t.arange(24.0).view(2, 3, 4).clone()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            if value is None:
                read = x[index]
                return [tuple(read.shape), read.tolist(), read._is_view(), bool(seen)]
            x[index] = value(t)
            return [x.tolist(), bool(seen)]
        except Exception as error:
            return ["refused", type(error)]


WRITES = {"read": None, "a number": lambda t: 7, "a tensor": lambda t: t.tensor(7.5), "a row": lambda t: t.ones(4)}


@pytest.mark.parametrize("write", WRITES)
def test_one_part(write: str) -> None:
    """Alone each kind is taken, refused by the same class of error, or warned of, as PyTorch does."""
    ours, theirs = kinds(retrograd), kinds(torch)
    found = {name: outcome(retrograd, ours[name], WRITES[write]) for name in ours}
    wanted = {name: outcome(torch, theirs[name], WRITES[write]) for name in theirs}
    assert {name: (found[name], wanted[name]) for name in found if found[name] != wanted[name]} == {}


def test_two_parts() -> None:
    """Beside another part, too; where both are wrong, either is named first."""
    ours, theirs = kinds(retrograd), kinds(torch)
    different = {}
    for pair in itertools.product(ours, repeat=2):
        found, wanted = (
            outcome(t, tuple(parts[name] for name in pair), None) for t, parts in ((retrograd, ours), (torch, theirs))
        )
        if found != wanted and not found[0] == wanted[0] == "refused":
            different[pair] = found, wanted
    assert different == {}


def test_the_dimension_that_is_named() -> None:
    """An error counts dimensions as PyTorch does, whichever parts come before."""
    for index in [(0, 5), (None, 0, 5), (slice(None), 5), (..., 9), (0, None, 5)]:
        messages = []
        for t in (torch, retrograd):
            with pytest.raises(IndexError) as refused:
                t.zeros(2, 3, 4)[index]
            messages.append(str(refused.value))
        assert messages[0] == messages[1]


def test_places_where_there_is_nothing() -> None:
    """Of no elements any are read, but not along a dimension that has none."""
    for t in (torch, retrograd):
        assert t.zeros(2, 0, 4)[t.tensor([0, 7])].shape == (2, 0, 4)
        written = t.zeros(2, 0, 4)
        written[t.tensor([0, 7])] = 1
        with pytest.raises(IndexError):
            t.zeros(0, 3)[t.tensor([0])]
