"""Samples of ``embedding``, ``embedding_bag``, ``linear`` and ``bilinear``."""

from __future__ import annotations

import numpy as np
from op_samples import Const, calls, program, real

NN = "nn.functional."
WHERE = np.array([[1, 0, 4], [4, 4, 2]])
FLAT = np.array([1, 0, 4, 4, 2, 3])
STARTS = np.array([0, 2, 2, 5])
TABLE = real(5, 3)


def renormed(torch, where, table):  # type: ignore[no-untyped-def]
    """Rows that are too long are shortened in place."""
    table = table.detach().clone()
    out = torch.nn.functional.embedding(where, table, max_norm=1.5)
    return out, table, table._version


SAMPLES = [
    *calls(
        NN + "embedding",
        [WHERE, TABLE], [FLAT, TABLE, 4], [WHERE, TABLE, -1], [np.array(2), TABLE],
        [np.zeros((0, 2), np.int64), TABLE],
        variants=False,
    ),
    # PyTorch's second order forgets the frequencies
    *calls(
        NN + "embedding",
        [WHERE, TABLE, None, None, 2.0, True], [WHERE, real(5, 2), {"padding_idx": 0, "scale_grad_by_freq": True}],
        variants=False, second=False, note="frequency",
    ),
    *calls("embedding", [TABLE, WHERE], [TABLE, WHERE, 4]),
    program(NN + "embedding", renormed, WHERE, Const(TABLE), note="max_norm", grad=False),
    *calls(
        NN + "embedding_bag",
        [WHERE, TABLE], [FLAT, TABLE, STARTS], [FLAT, TABLE, STARTS, {"mode": "sum"}],
        [FLAT, TABLE, STARTS, {"mode": "max"}], [WHERE, TABLE, {"mode": "max", "padding_idx": 4}],
        [FLAT, TABLE, STARTS, {"mode": "sum", "per_sample_weights": real(6)}],
        [FLAT, TABLE, STARTS, {"mode": "mean", "padding_idx": 4}],
        [FLAT, TABLE, np.array([0, 2, 6]), {"mode": "sum", "include_last_offset": True}],
        [WHERE, TABLE, {"mode": "sum", "per_sample_weights": real(2, 3), "padding_idx": -1}],
        variants=False,
    ),
    *calls(
        NN + "linear",
        [real(2, 3), real(4, 3), real(4)], [real(2, 3), real(4, 3)], [real(2, 2, 3), real(4, 3), real(4)],
        [real(2, 2, 3), real(4, 3)], [real(3), real(4, 3), real(4)], [real(0, 3), real(4, 3), real(4)],
        [real(3, 2).T, real(4, 3), real(4)],
    ),
    *calls(NN + "linear", [real(3), real(4, 3)], [real(3), real(3)], note="vector", node=False),
    *calls(
        NN + "bilinear",
        [real(2, 3), real(2, 4), real(5, 3, 4), real(5)], [real(2, 2, 3), real(2, 2, 4), real(2, 3, 4)],
    ),
    *calls("bilinear", [real(2, 3), real(2, 4, start=1), real(5, 3, 4)]),
]  # fmt: skip
