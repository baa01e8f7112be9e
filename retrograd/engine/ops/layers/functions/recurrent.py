"""LSTM, GRU and plain recurrent cells, whole layers of them, and packed sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....calls.refusals import refuse
from ....core.base import TensorBase, wrap
from ....core.dtypes import scalar_name
from ....core.registry import F
from ....table.public import check_tensor, public
from .dropout import dropout
from .embedding import linear

# Packed sequences: converts padded `(time, batch, …)` with lengths to the steps of all sequences, and back.


def _places(sizes: Any) -> tuple[Any, Any]:
    """Step and entry of each row of packed data."""
    steps = np.repeat(np.arange(len(sizes)), sizes)
    entries = np.concatenate([np.arange(n) for n in sizes]) if len(sizes) else np.zeros(0, np.int64)
    return steps, entries


@public("_pack_padded_sequence", method=False)
def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool) -> Any:  # noqa: A002
    """Packed data and how many sequences have each step; lengths must not increase."""
    check_tensor("_pack_padded_sequence", input)
    given = np.asarray(lengths._array if isinstance(lengths, TensorBase) else lengths)
    x = input.transpose(0, 1) if batch_first else input
    refuse(not x.numel(), "Cannot pack empty tensors.")
    refuse(given.ndim != 1, f"lengths must be one-dimensional, got {given.ndim} dimensions")
    refuse(
        len(given) != x.shape[1],
        f"Expected `len(lengths)` to be equal to batch_size, but got {len(given)} (batch_size={x.shape[1]})",
    )
    refuse(
        bool((given <= 0).any()),
        "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0",
    )
    refuse(
        bool((given[1:] > given[:-1]).any()),
        "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
        "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do "
        "not need ONNX exportability.",
    )
    refuse(
        int(given[0]) > x.shape[0], f"Expected lengths of at most {x.shape[0]}, the steps of input, but got {given[0]}"
    )
    sizes = (given[None, :] > np.arange(int(given[0]))[:, None]).sum(1)
    return F._pack_padded(x, *_places(sizes)), wrap(sizes.astype(np.int64))


@public("_pad_packed_sequence", method=False)
def pad_packed_sequence(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: float, total_length: int = -1
) -> Any:
    """Padded sequences and their lengths."""
    sizes = batch_sizes._array
    longest = len(sizes)
    refuse(
        0 < total_length < longest,
        f"Expected total_length to be at least the length of the longest sequence in input, but got "
        f"total_length={total_length} and max sequence length being {longest}",
    )
    shape = (max(longest, total_length), int(sizes[0]) if longest else 0)
    padded = F._pad_packed(data, *_places(sizes), shape, float(padding_value))
    lengths = (sizes[:, None] > np.arange(shape[1])).sum(0)
    return (padded.transpose(0, 1) if batch_first else padded), wrap(lengths.astype(np.int64))


# One direction of a recurrent layer over packed data: the batch shrinks as sequences end.


def run_packed(step: Any, data: Any, sizes: list[int], state: Any, params: Any, *, backwards: bool) -> tuple[Any, Any]:
    """Outputs, packed like ``data``, and the last state of each sequence; ``state`` has one row per sequence."""
    gates = F._split_with_sizes(linear(data, params[0], params[2]), tuple(sizes), 0)
    run = _from_the_end if backwards else _from_the_start
    outputs, final = run(step, gates, sizes, state, params)
    return F.cat(outputs, 0), final


def _rows(state: Any, start: int, end: int) -> Any:
    return tuple(F._slice(s, 0, start, end, 1) for s in state)


def _joined(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else tuple(F.cat(list(same), 0) for same in zip(*parts, strict=True))


def _from_the_start(step: Any, gates: Any, sizes: list[int], state: Any, params: Any) -> tuple[list[Any], Any]:
    outputs, ended, have = [], [], sizes[0]
    for gate, n in zip(gates, sizes, strict=True):
        if n < have:
            ended.append(_rows(state, n, have))
            state, have = _rows(state, 0, n), n
        state = step(gate, state, params)
        outputs.append(state[0])
    return outputs, _joined([state, *reversed(ended)])


def _from_the_end(step: Any, gates: Any, sizes: list[int], state: Any, params: Any) -> tuple[list[Any], Any]:
    first, outputs, have = state, [], sizes[-1]
    state = _rows(first, 0, have)
    for gate, n in zip(reversed(gates), reversed(sizes), strict=True):
        if n > have:
            state, have = _joined([state, _rows(first, have, n)]), n
        state = step(gate, state, params)
        outputs.append(state[0])
    return outputs[::-1], state


# LSTM, GRU and plain recurrent cells, and whole layers of them.

Step = Callable[[Any, Any, Any], Any]
"""From the input's part of the gates, the state and the parameters of a direction to the next state."""


def _chunks(gates: Any, count: int) -> Any:
    return gates.unsafe_chunk(count, gates.ndim - 1)


def _check_cell(x: Any, hidden: Any, weights: tuple[Any, Any], factor: int) -> None:
    """``RuntimeError`` unless ``(N, in)``, ``(N, h)`` and weights ``(factor * h, in)``, ``(factor * h, h)`` fit."""
    w_ih, w_hh = weights
    refuse(x.ndim not in (1, 2), f"Expected input to be 1D or 2D, got {x.ndim}D instead")
    refuse(
        factor > 1 and x._sig.kind in "iub",
        f"result type Float can't be cast to the desired output type {scalar_name(x._sig.numpy)}",
    )
    refuse(
        x.shape[-1] != w_ih.shape[1], f"input has inconsistent input_size: got {x.shape[-1]} expected {w_ih.shape[1]}"
    )
    refuse(
        x.ndim == 2 and (hidden.ndim < 2 or hidden.shape[0] != x.shape[0]),
        f"Input batch size {x.shape[0]} doesn't match hidden0 batch size {hidden.shape[0]}",
    )
    refuse(
        hidden.shape[-1] != w_hh.shape[1],
        f"hidden0 has inconsistent hidden_size: got {hidden.shape[-1]}, expected {w_hh.shape[1]}",
    )
    refuse(
        w_hh.shape[0] != factor * hidden.shape[-1] and w_hh.shape[0] % factor != 0,
        f"weight_hh has {w_hh.shape[0]} rows, expected a multiple of {factor}",
    )


# -- one step; the input's part of the gates is given, so that a layer can compute it for all steps at once


def _lstm_step(gates: Any, state: Any, params: Any) -> Any:
    _, w_hh, _, b_hh, w_hr = params
    return _lstm_states(linear(state[0], w_hh, b_hh) + gates, state[1], w_hr)


def _lstm_states(gates: Any, cell: Any, w_hr: Any) -> Any:
    i, f, g, o = _chunks(gates, 4)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cell = f * cell + i * g
    hidden = o * cell.tanh()
    return (hidden if w_hr is None else linear(hidden, w_hr)), cell


def _gru_step(gates: Any, state: Any, params: Any) -> Any:
    _, w_hh, _, b_hh, _ = params
    (hidden,) = state
    given_r, given_z, given_n = _chunks(gates, 3)
    own_r, own_z, own_n = _chunks(linear(hidden, w_hh, b_hh), 3)
    reset, update = (own_r + given_r).sigmoid(), (own_z + given_z).sigmoid()
    fresh = (given_n + own_n * reset).tanh()
    return ((hidden - fresh) * update + fresh,)


def _tanh_step(gates: Any, state: Any, params: Any) -> Any:
    _, w_hh, _, b_hh, _ = params
    return ((linear(state[0], w_hh, b_hh) + gates).tanh(),)


def _relu_step(gates: Any, state: Any, params: Any) -> Any:
    _, w_hh, _, b_hh, _ = params
    return ((linear(state[0], w_hh, b_hh) + gates).relu(),)


@public("lstm_cell", method=False)
def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:  # noqa: A002
    """One step of an LSTM: the next hidden and cell state."""
    check_tensor("lstm_cell", input)
    refuse(len(hx) != 2, "lstm_cell expects two hidden states")
    _check_cell(input, hx[0], (w_ih, w_hh), 4)
    _check_cell(input, hx[1], (w_ih, w_hh), 4)
    return _lstm_states(linear(hx[0], w_hh, b_hh) + linear(input, w_ih, b_ih), hx[1], None)


def _both(input: Any, hx: Any, params: Any) -> Any:  # noqa: A002
    """What comes of the hidden state, which torch computes first, and of the input."""
    w_ih, w_hh, b_ih, b_hh = params
    return linear(hx, w_hh, b_hh) + linear(input, w_ih, b_ih)


def _cell(name: str, step: Callable[..., Any], factor: int) -> None:
    def cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:  # noqa: A002
        """One step of a recurrent network: the next hidden state."""
        check_tensor(name, input)
        _check_cell(input, hx, (w_ih, w_hh), factor)
        return step(input, hx, w_ih, w_hh, b_ih, b_hh)

    cell.__name__ = cell.__qualname__ = name
    public(name, method=False)(cell)


_cell("gru_cell", lambda input, hx, *params: _gru_step(linear(input, *params[::2]), (hx,), (*params, None))[0], 3)
_cell("rnn_tanh_cell", lambda input, hx, *params: _both(input, hx, params).tanh(), 1)
_cell("rnn_relu_cell", lambda input, hx, *params: _both(input, hx, params).relu(), 1)


# -- layers


def _directions(params: Any, has_biases: bool, projected: bool) -> list[Any]:
    """Parameters of each direction of each layer: ``(w_ih, w_hh, b_ih, b_hh, w_hr)``, ``None`` where there is none."""
    per = 2 + 2 * has_biases + projected
    refuse(len(params) % per != 0, f"got an incorrect number of RNN parameters: {len(params)} is no multiple of {per}")
    grouped = [list(params[i : i + per]) for i in range(0, len(params), per)]
    return [
        (p[0], p[1], p[2] if has_biases else None, p[3] if has_biases else None, p[-1] if projected else None)
        for p in grouped
    ]


def _run(step: Step, sequence: Any, state: Any, params: Any, *, backwards: bool) -> tuple[Any, Any]:
    """One direction of one layer over ``(time, batch, features)``."""
    gates = linear(sequence, params[0], params[2]).unbind(0)
    outputs = []
    for gate in reversed(gates) if backwards else gates:
        state = step(gate, state, params)
        outputs.append(state[0])
    return F.stack(outputs[::-1] if backwards else outputs, 0), state


def _layers(
    step: Step, x: Any, states: Any, directions: list[Any], how: tuple[int, float, bool], sizes: list[int] | None = None
) -> tuple[Any, Any]:
    """All layers; ``how`` is (directions per layer, dropout between layers, training), ``sizes`` of packed data."""
    width, drop, train = how
    starts = [s.unbind(0) for s in states]
    finals = []
    for first in range(0, len(directions), width):
        if first and drop and train:
            x = dropout(x, drop, True)
        made = []
        for k in range(first, first + width):
            start = tuple([s[k] for s in starts])
            if sizes is None:
                out, final = _run(step, x, start, directions[k], backwards=k > first)
            else:
                out, final = run_packed(step, x, sizes, start, directions[k], backwards=k > first)
            made.append(out)
            finals.append(final)
        x = made[0] if width == 1 else F.cat(made, x.ndim - 1)
    return x, tuple(F.stack([f[i] for f in finals], 0) for i in range(len(states)))


def _layered(
    name: str, step: Step, x: Any, states: Any, params: Any, how: tuple[Any, ...], batch_sizes: Any = None
) -> Any:
    """Run all layers and directions over a sequence: outputs, then the last states."""
    has_biases, num_layers, drop, train, bidirectional, batch_first = how
    check_tensor(name, x)
    projected = len(states) == 2 and states[0].shape[2] != states[1].shape[2]
    directions = _directions(params, has_biases, projected)
    width = 2 if bidirectional else 1
    refuse(
        len(directions) != num_layers * width,
        f"{name}: got parameters for {len(directions)} directions, expected {num_layers * width}",
    )
    x = x.transpose(0, 1) if batch_first else x
    sizes = None if batch_sizes is None else batch_sizes.tolist()
    out, finals = _layers(step, x, states, directions, (width, drop, train), sizes)
    if batch_first:
        out = out.transpose(0, 1) if name == "lstm" else out.transpose_(0, 1)
    return out, *finals


@public("lstm", method=False)
def lstm(
    input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,  # noqa: A002
    bidirectional: bool, batch_first: bool,
) -> Any:  # fmt: skip
    """Layers of LSTMs over a sequence: outputs, last hidden states, last cell states.

    Also ``lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)`` of packed data.
    """
    if isinstance(hx, TensorBase):
        packed = (num_layers, dropout, train, bidirectional, batch_first, False)
        return _layered("lstm", _lstm_step, input, tuple(params), has_biases, packed, hx)
    how = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return _layered("lstm", _lstm_step, input, tuple(hx), params, how)


def _network(name: str, step: Step) -> None:
    """Publish a recurrent network made of one kind of step."""

    def network(
        input: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,  # noqa: A002
        bidirectional: bool, batch_first: bool,
    ) -> Any:  # fmt: skip
        """Layers of a recurrent network over a sequence: outputs and last hidden states.

        Packed data is given as for ``lstm``.
        """
        if isinstance(params, TensorBase):
            packed = (num_layers, dropout, train, bidirectional, batch_first, False)
            return _layered(name, step, input, (params,), has_biases, packed, hx)
        how = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
        return _layered(name, step, input, (hx,), params, how)

    network.__name__ = network.__qualname__ = name
    public(name, method=False)(network)


_network("gru", _gru_step)
_network("rnn_tanh", _tanh_step)
_network("rnn_relu", _relu_step)
