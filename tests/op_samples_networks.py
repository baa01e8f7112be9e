"""Samples of dropout without chance, attention and recurrent networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_samples import Const, Sample, bools, calls, program, real

NN = "nn.functional."
Q, K, V = real(2, 2, 3, 4), real(2, 2, 5, 4, start=1), real(2, 2, 5, 4, start=2)

DROPOUT = [
    *calls(NN + "dropout " + NN + "alpha_dropout", [real(2, 3), 0.5, False], [real(2, 3), 0.0], variants=False),
    *calls(NN + "dropout", [real(2, 3), 1.0], variants=False),
    *calls(NN + "dropout2d " + NN + "dropout3d", [real(2, 3, 4, 2, 2), 0.5, False], variants=False),
    *calls(NN + "dropout1d", [real(2, 3, 4), 0.5, False], variants=False),
    *calls("dropout feature_dropout alpha_dropout", [real(2, 3), 0.0, True], [real(2, 3), 0.4, False], variants=False),
]

ATTENTION = [
    *calls(
        NN + "scaled_dot_product_attention",
        [Q, K, V], [Q, K, V, Const(bools(3, 5) | np.eye(3, 5, dtype=bool))], [Q, Q, Q, {"is_causal": True}],
        [Q, K, V, Const(real(2, 1, 3, 5))], [Q, K, V, {"scale": 0.3}],
        [real(3, 4), real(5, 4), real(5, 6)], [real(2, 3, 4), real(2, 5, 4), real(2, 5, 4)], [Q, K, V, real(3, 5)],
        [real(3, 4), real(5, 4), real(5, 6), {"is_causal": True}],
        [real(1, 4, 3, 2), real(1, 2, 5, 2), real(1, 2, 5, 2), {"enable_gqa": True}],
        variants=False, rtol=1e-7, atol=1e-9,
    ),
]  # fmt: skip


def heads(torch, x, weight, bias, out):  # type: ignore[no-untyped-def]
    """Attention with two heads and its weights."""
    return torch.nn.functional.multi_head_attention_forward(
        x, x, x, 4, 2, weight, bias, None, None, False, 0.0, out, None, average_attn_weights=False
    )


def masked_heads(torch, x, weight, bias, out, added):  # type: ignore[no-untyped-def]
    """Attention with two heads, masks, and keys added behind."""
    mask = torch.tensor([[False, True, False], [False, False, False], [True, False, False]])
    padding = torch.tensor([[False, False, True], [False, False, False]])
    return torch.nn.functional.multi_head_attention_forward(
        x, x, x, 4, 2, weight, bias, added, added, True, 0.0, out, None, attn_mask=mask, key_padding_mask=padding
    )


HEADS = [
    program(NN + "multi_head_attention_forward", heads, real(3, 2, 4), real(12, 4), real(12), real(4, 4)),
    program(NN + "multi_head_attention_forward", heads, real(3, 4), real(12, 4), real(12), real(4, 4)),
    program(
        NN + "multi_head_attention_forward", masked_heads, real(3, 2, 4), real(12, 4), real(12), real(4, 4),
        real(1, 1, 4), note="masked",
    ),
]  # fmt: skip


def cell(name: str, gates: int) -> list[Sample]:
    """A cell with and without biases."""
    hidden = (real(2, 4), real(2, 4, start=1)) if name == "lstm_cell" else real(2, 4)
    weights = (real(gates * 4, 3), real(gates * 4, 4, start=2))
    biases = (real(gates * 4), real(gates * 4, start=1))
    return calls(name, [real(2, 3), hidden, *weights, *biases], [real(2, 3), hidden, *weights], variants=False)


def network(name: str, gates: int, layers: int, both: bool, first: bool, projected: int = 0) -> Sample:
    """Layers of a recurrent network."""
    width = 2 if both else 1
    size = projected or 4
    params: list[object] = []
    for layer in range(layers):
        for _ in range(width):
            into = 3 if layer == 0 else size * width
            k = len(params)
            params += [real(gates * 4, into, lo=-1, hi=1, start=k), real(gates * 4, size, lo=-1, hi=1, start=k + 1)]
            params += [real(gates * 4, start=k + 2), real(gates * 4, start=k + 3)]
            params += [real(projected, 4, start=k)] if projected else []
    hidden = real(layers * width, 2, size)
    state = [hidden, real(layers * width, 2, 4, start=3)] if name == "lstm" else hidden
    x = real(2, 3, 3) if first else real(3, 2, 3)
    return calls(name, [x, state, params, True, layers, 0.0, True, both, first], variants=False, node=False,
                 note=f"{layers} {both} {first} {projected}")[0]  # fmt: skip


RECURRENT = [
    *cell("lstm_cell", 4), *cell("gru_cell", 3), *cell("rnn_tanh_cell", 1), *cell("rnn_relu_cell", 1),
    network("lstm", 4, 1, False, False), network("lstm", 4, 2, True, True), network("lstm", 4, 1, False, False, 2),
    network("gru", 3, 2, True, False), network("rnn_tanh", 1, 1, False, True), network("rnn_relu", 1, 2, False, False),
]  # fmt: skip


def _packed(torch: Any, x: Any) -> Any:
    return torch.nn.utils.rnn.pack_padded_sequence(x, [4, 2, 1]).data


def _padded(torch: Any, data: Any) -> Any:
    rnn = torch.nn.utils.rnn
    packed = rnn.PackedSequence(data, torch.tensor([3, 2, 1, 1]))
    return rnn.pad_packed_sequence(packed, padding_value=-1.0)[0]


PACKED = [program("pack_padded_sequence", _packed, real(4, 3, 2)), program("pad_packed_sequence", _padded, real(7, 2))]

SAMPLES = [*DROPOUT, *ATTENTION, *HEADS, *RECURRENT, *PACKED]
