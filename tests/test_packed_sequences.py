"""Sequences of several lengths, and recurrent layers over them, on both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
from both_engines import differential, raises


def numbers(torch: Any, *shape: int, start: int = 0) -> Any:
    """Distinct float64 numbers."""
    return torch.tensor(np.sin(np.arange(np.prod(shape)) * 0.7 + start).reshape(shape).tolist(), dtype=torch.float64)


@differential
def test_packing(torch: Any) -> Any:
    """Packed and padded again, sorted and not, with gradients."""
    rnn = torch.nn.utils.rnn
    x = numbers(torch, 4, 3, 2).requires_grad_()
    packed, loose = (
        rnn.pack_padded_sequence(x, torch.tensor([4, 2, 1])),
        rnn.pack_padded_sequence(x, [1, 4, 2], enforce_sorted=False),
    )
    padded, lengths = rnn.pad_packed_sequence(loose, padding_value=-1.0)
    (padded * numbers(torch, 4, 3, 2, start=5)).sum().backward()
    first = rnn.pack_padded_sequence(x.transpose(0, 1), [4, 2, 1], batch_first=True)
    return [
        list(packed), packed._fields, list(loose), padded, lengths, x.grad, first.data,
        rnn.pad_packed_sequence(packed, batch_first=True, total_length=6)[0].shape,
        raises("total_length to be at least", rnn.pad_packed_sequence, packed, total_length=2),
        raises("must be sorted in decreasing order", rnn.pack_padded_sequence, x, [1, 2, 3]),
        raises("to be equal to batch_size, but got 2 (batch_size=3)", rnn.pack_padded_sequence, x, [3, 2]),
        raises("has to be greater than 0", rnn.pack_padded_sequence, x, [3, 2, 0]),
        raises("Cannot pack empty tensors", rnn.pack_padded_sequence, torch.zeros(0, 3, 2), [1, 1, 1]),
    ]  # fmt: skip


@differential
def test_lists_of_tensors(torch: Any) -> Any:
    """Lists of tensors padded, packed and taken apart again."""
    rnn = torch.nn.utils.rnn
    parts = [torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([4.0]), torch.tensor([5.0, 6.0])]
    padded = rnn.pad_sequence(parts)
    padded.pow(2).sum().backward()
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    return [
        padded.detach(), parts[0].grad, rnn.pad_sequence(parts, True, 9.0, "left").detach(), list(packed),
        [p.tolist() for p in rnn.unpack_sequence(packed)],
        [p.tolist() for p in rnn.unpad_sequence(padded, torch.tensor([3, 1, 2]))],
        raises("empty list of sequences", rnn.pad_sequence, []), raises("Expected iterable", rnn.pad_sequence, 3),
        raises("sorted in decreasing order", rnn.pack_sequence, [parts[1], parts[0]]),
    ]  # fmt: skip


@differential
def test_recurrent_layers(torch: Any) -> Any:
    """LSTM, GRU and RNN over padded, packed and single sequences: outputs, states and gradients."""
    rnn, results = torch.nn.utils.rnn, []
    for make in (
        lambda: torch.nn.LSTM(2, 3),
        lambda: torch.nn.LSTM(2, 3, 2, bidirectional=True, batch_first=True),
        lambda: torch.nn.GRU(2, 3, num_layers=2, bias=False),
        lambda: torch.nn.RNN(2, 3, 1, "relu"),
        lambda: torch.nn.RNN(2, 3, bidirectional=True),
    ):
        layer = make().double()
        with torch.no_grad():
            for i, p in enumerate(layer.parameters()):
                p.copy_(numbers(torch, *p.shape, start=i))
        x = numbers(torch, 4, 3, 2)
        out, state = layer(x)
        again, _ = layer(x, state)
        lengths = [1, 3, 2, 3] if layer.batch_first else [1, 4, 2]
        packed = rnn.pack_padded_sequence(x, lengths, layer.batch_first, enforce_sorted=False)
        ran, last = layer(packed)
        padded, found = rnn.pad_packed_sequence(ran, layer.batch_first)
        padded.sum().backward()
        single, _ = layer(x[:, 0])
        results.append([
            [n for n, _ in layer.named_parameters()], out.detach(), again.detach(), padded.detach(), found,
            [s.detach() for s in last] if isinstance(last, tuple) else last.detach(),
            [p.grad for p in layer.parameters()], single.detach(),
        ])  # fmt: skip
    return [
        results, raises("Unknown nonlinearity", torch.nn.RNN, 2, 3, nonlinearity="sine"),
        raises("Expected input to be 2D or 3D, got 1D", torch.nn.LSTM(2, 3), torch.ones(2)),
        raises("", torch.nn.LSTM, 2, 3, no_such_option=1), raises("", torch.nn.GRU, 2),
    ]  # fmt: skip
