"""Samples of reading and writing by index, mask and place."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_samples import Const, Sample, bools, calls, cplx, ints, program, real

ROWS = np.array([[0, 1, 2, 0], [2, 2, 0, 1]])
PICK = np.array([2, 0])
TWICE = np.array([1, 1, 0])
MASK = bools(3, 4)

ALONG = [
    *calls("gather", [real(3, 4), 0, ROWS], [real(3, 4), 1, np.array([[3], [0], [3]])], [real(), 0, np.array(0)],
           [cplx(3, 4), 0, ROWS], [real(3, 4), -1, np.zeros((3, 0), np.int64)], [real(4), 0, np.array([[1]])[0]]),
    *calls("scatter", [real(3, 4), 0, ROWS[:1], real(1, 4)], [real(3, 4), 0, ROWS[:1], 0.5],
           [real(3, 4), 0, ROWS[:1], {"value": 2.0}],
           [real(), 0, np.array(0), real(start=1)], [cplx(3, 4), 0, ROWS[:1], cplx(1, 4)]),
    *calls("scatter", [real(3, 4), 0, ROWS, real(2, 4), {"reduce": "add"}],
           [real(3, 4), 0, ROWS, 2.0, {"reduce": "multiply"}], note="reduce", grad=False),
    *calls("scatter scatter_add", [real(3, 4), 1, np.array([[3, 0], [1, 2]]), real(3, 3)], note="larger source", grad=False),
    *calls("scatter_add", [real(3, 4), 0, ROWS, real(2, 4)], [real(4), 0, TWICE, real(3)]),
    *[
        sample
        for how in ("sum", "prod", "mean", "amax", "amin")
        for sample in calls(
            "scatter_reduce", [real(3, 4), 0, ROWS, real(2, 4, start=1), how],
            [real(3, 4), 0, ROWS, real(2, 4, start=1), how, {"include_self": False}],
            [np.array([1.0, 2.0, 0.0]), 0, np.array([0, 0, 1, 2]), np.array([1.0, 0.0, 2.0, 3.0]), how],
            note=how, forward=how != "prod",  # torch's tangents of prod are 0
        )
    ],
    *calls("scatter_reduce index_reduce", [np.array([1.0, 2.0]), 0, np.array([0, 0, 1]), np.array([0.0, 0.0, 4.0]), "prod"],
           note="two zeros", second=False, forward=False),
    *calls("index_select", [real(3, 4), 0, TWICE], [real(3, 4), -1, PICK], [real(), 0, np.array([0])],
           [cplx(3), 0, PICK]),
    *calls("index_add", [real(3, 4), 0, TWICE, real(3, 4)], [real(3, 4), 1, PICK, real(3, 2), {"alpha": 0.5}],
           [ints(4), 0, PICK, ints(2)]),
    *calls("index_copy", [real(3, 4), 0, PICK, real(2, 4)], [real(3, 4), 1, PICK, real(3, 2)]),
    *calls("index_fill", [real(3, 4), 0, PICK, 0.5], [real(3, 4), 1, TWICE, real()]),
    *[
        sample
        for how in ("prod", "mean", "amax", "amin")
        for sample in calls(
            "index_reduce", [real(3, 4), 0, TWICE, real(3, 4, start=1), how],
            [real(3, 4), 1, PICK, real(3, 2, start=1), how, {"include_self": False}], note=how,
        )
    ],
    *calls("take_along_dim", [real(3, 4), ROWS, 0], [real(3, 4), np.array([[-1], [5], [-6]]), 1],
           [real(3, 4), np.array([[3], [0], [1]]), 1], [real(3, 4), ROWS],
           [real(1, 4), ROWS[:, :1] * 0, 1]),
]  # fmt: skip

MASKS = [
    *calls("masked_select", [real(3, 4), MASK], [real(4), bools(3, 4)], [real(3, 4), bools(4)], [real(), np.array(True)]),
    *calls("masked_scatter", [real(3, 4), MASK, real(12, start=1)], [real(3, 4), bools(4), real(3, 4, start=1)]),
    *calls("take", [real(3, 4), np.array([[0, 11], [5, -1]])], [real(3, 4), np.array(3)], [real(3), TWICE]),
    *calls("index_put", [real(3, 4), (PICK,), real(2, 4)], [real(3, 4), (TWICE,), real(3, 4), True],
           [real(3, 4), (PICK, PICK), real(2)], [real(3, 4), (MASK,), real()], [real(3, 4), (PICK,), real(4)]),
    program("put", lambda torch, x, i, s: x.put(i, s), real(3, 4), np.array([[0, 11]]), real(1, 2), node=True),
    program("put accumulating", lambda torch, x, i, s: x.put(i, s, accumulate=True), real(3, 4), TWICE, real(3),
            node=True),
    program("put_", lambda torch, x, i, s: (x * 1).put_(i, s), real(3, 4), PICK, real(2), node=True),
]  # fmt: skip


def reading(name: str, index: Any, *shape: int) -> Sample:
    """A sample that reads by an index of NumPy arrays, slices, numbers."""

    def call(torch: Any, x: Any) -> Any:
        return x[translated(torch, index)]

    return program(f"x[{name}]", call, real(*shape), node=True)


def writing(name: str, index: Any, value: Any, *shape: int) -> Sample:
    """A sample that writes by such an index."""

    def call(torch: Any, x: Any, v: Any) -> Any:
        y = x * 1
        y[translated(torch, index)] = v
        return y

    return program(f"x[{name}] = v", call, real(*shape), value, node=True)


def translated(torch: Any, index: Any) -> Any:
    """Arrays of an index as tensors."""
    if isinstance(index, tuple):
        return tuple(translated(torch, part) for part in index)
    return torch.from_numpy(index) if isinstance(index, np.ndarray) else index


READING = [
    reading("i", PICK, 3, 4),
    reading("i, :, None", (PICK, slice(None), None), 3, 4),
    reading("0, :, i", (0, slice(None), PICK), 2, 3, 4),
    reading("i, :, j", (PICK, slice(None), PICK), 3, 2, 4),
    reading("...", (...,), 3, 4),
    reading("..., i", (..., PICK), 2, 3, 4),
    reading("None, i", (None, PICK), 3, 4),
    reading("i, None, j", (PICK, None, PICK), 3, 4),
    reading("1:, i", (slice(1, None), PICK), 3, 4),
    reading("i, 1", (PICK, 1), 3, 4),
    reading("mask", MASK, 3, 4),
    reading("mask of rows", np.array([True, False, True]), 3, 4),
    reading("mask, :", (MASK, slice(None)), 3, 4, 2),
    reading("mask, 1:", (MASK, slice(1, None)), 3, 4, 3),
    reading(":, mask", (slice(None), np.array([True, False, True, True])), 3, 4),
    reading("i, j broadcast", (PICK[:, None], np.array([0, 3, 1])), 3, 4),
    reading("list", [0, 2], 3, 4),
    reading("list, slice", ([0, 2], slice(1, 3)), 3, 4),
    reading("0-d index", np.array(1), 3, 4),
    reading("0-d index, i", (np.array(1), PICK), 3, 4),
    reading("negative", np.array([-1, 0]), 3, 4),
    reading("True", True, 3, 4),
    reading("False", False, 3, 4),
    reading("::2, i", (slice(None, None, 2), PICK), 3, 4),
    reading("i of 3-d", np.array([[0, 1], [1, 1]]), 3, 4),
    reading("empty", np.zeros(0, np.int64), 3, 4),
    reading("..., None, 0", (..., None, 0), 3, 4),
]

WRITING = [
    writing("i", PICK, real(2, 4), 3, 4),
    writing("i, i", (PICK, PICK), real(2), 3, 4),
    writing("mask", MASK, real(), 3, 4),
    writing("mask vector", MASK, real(int(MASK.sum())), 3, 4),
    writing("i, 1:3", (PICK, slice(1, 3)), real(2), 3, 4),
    writing("0, :, i", (0, slice(None), PICK), real(3, 2), 2, 3, 4),
    writing("..., i", (..., PICK), real(1, 2), 3, 4),
    writing("None, i", (None, PICK), real(4), 3, 4),
    program("x[i] = number", lambda torch, x: _written(x, torch.from_numpy(PICK), 0.5), real(3, 4), node=True),
    program("x[mask] = number", lambda torch, x: _written(x, x > 0, 0.5), real(3, 4), node=True),
    program(
        "x[i] of a constant", lambda torch, x, v: _written(x, torch.from_numpy(PICK), v), Const(real(3, 4)), real(2, 4)
    ),
]


def _written(x: Any, index: Any, value: Any) -> Any:
    """A copy with one value written."""
    y = x * 1
    y[index] = value
    return y


SAMPLES: list[Sample] = [*ALONG, *MASKS, *READING, *WRITING]
