"""Recurrent layers: ``RNN``, ``LSTM`` and ``GRU`` over padded or packed sequences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..engine.table.methods import FUNCTIONS
from ..engine.tensors.parameter import Parameter
from .module import Module
from .utils.rnn import PackedSequence

_NAMES = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional")
_DEFAULTS = (1, True, False, 0.0, False)


def _start(module: Any, gates: int, sizes: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Sizes, options and parameters; uniform in ``±1/sqrt(hidden_size)`` as in torch."""
    given = dict(zip(_NAMES, sizes, strict=False))
    doubled = given.keys() & options.keys()
    unknown = options.keys() - {*_NAMES, "device", "dtype"}
    if doubled or unknown or len(sizes) > len(_NAMES):
        wrong = ", ".join(sorted(doubled | unknown)) or f"{len(sizes)} positional arguments"
        raise TypeError(f"{type(module).__name__}() got unexpected or repeated arguments: {wrong}")
    chosen = {**dict(zip(_NAMES[2:], _DEFAULTS, strict=True)), **given, **options}
    missing = [name for name in _NAMES[:2] if name not in chosen]
    if missing:
        raise TypeError(f"{type(module).__name__}() missing required arguments: {', '.join(missing)}")
    for name in _NAMES:
        setattr(module, name, chosen[name])
    bound = 1 / math.sqrt(module.hidden_size) if module.hidden_size else 0.0
    for name, shape in _shapes(module, gates):
        empty = FUNCTIONS["empty"](*shape, dtype=chosen.get("dtype"))
        setattr(module, name, Parameter(empty.uniform_(-bound, bound)))


def _shapes(module: Any, gates: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the parameters, layer by layer, direction by direction."""
    rows, width = gates * module.hidden_size, 2 if module.bidirectional else 1
    for layer in range(module.num_layers):
        inner = module.input_size if layer == 0 else module.hidden_size * width
        for suffix in ("", "_reverse")[:width]:
            yield f"weight_ih_l{layer}{suffix}", (rows, inner)
            yield f"weight_hh_l{layer}{suffix}", (rows, module.hidden_size)
            if module.bias:
                yield f"bias_ih_l{layer}{suffix}", (rows,)
                yield f"bias_hh_l{layer}{suffix}", (rows,)


def _zeros(module: Any, like: Any, batch: int) -> Any:
    layers = module.num_layers * (2 if module.bidirectional else 1)
    return FUNCTIONS["zeros"](layers, batch, module.hidden_size, dtype=like.dtype)


def _how(module: Any) -> tuple[Any, ...]:
    return module.bias, module.num_layers, module.dropout, module.training, module.bidirectional


def _run(module: Any, function: str, sequence: Any, states: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Outputs and last states of a padded, an unbatched or a packed sequence; ``states`` may be empty: zeros."""
    call, weights = FUNCTIONS[function], [p for _, p in module._named_members("_parameters", "", False)]
    count = 2 if function == "lstm" else 1
    if isinstance(sequence, PackedSequence):
        order = sequence.sorted_indices
        started = [s if order is None else s.index_select(1, order) for s in states]
        started = started or [_zeros(module, sequence.data, int(sequence.batch_sizes[0]))] * count
        hx = tuple(started) if count == 2 else started[0]
        data, *finals = call(sequence.data, sequence.batch_sizes, hx, weights, *_how(module))
        back = sequence.unsorted_indices
        return sequence._replace(data=data), tuple(f if back is None else f.index_select(1, back) for f in finals)
    if sequence.ndim not in (2, 3):
        raise ValueError(f"{type(module).__name__}: Expected input to be 2D or 3D, got {sequence.ndim}D instead")
    batched, at = sequence.ndim == 3, 0 if module.batch_first else 1
    x = sequence if batched else sequence.unsqueeze(at)
    started = [s if batched else s.unsqueeze(1) for s in states] or [_zeros(module, x, x.shape[at])] * count
    hx = tuple(started) if count == 2 else started[0]
    out, *finals = call(x, hx, weights, *_how(module), module.batch_first)
    return (out if batched else out.squeeze(at)), tuple(f if batched else f.squeeze(1) for f in finals)


class RNN(Module):
    """``RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", …)``: outputs and last states."""

    def __init__(self, *sizes: Any, nonlinearity: str = "tanh", **options: Any) -> None:
        super().__init__()
        if len(sizes) > 3:
            nonlinearity, sizes = sizes[3], (*sizes[:3], *sizes[4:])
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        _start(self, 1, sizes, options)

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """Apply the layers; without ``hx`` they start from zeros."""
        out, (final,) = _run(self, f"rnn_{self.nonlinearity}", input, () if hx is None else (hx,))
        return out, final


class LSTM(Module):
    """Long short-term memory: ``input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional``."""

    def __init__(self, *sizes: Any, **options: Any) -> None:
        super().__init__()
        _start(self, 4, sizes, options)

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """Outputs, and the last hidden and cell states; without ``hx`` they start from zeros."""
        return _run(self, "lstm", input, () if hx is None else tuple(hx))


class GRU(Module):
    """Gated recurrent units: ``input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional``."""

    def __init__(self, *sizes: Any, **options: Any) -> None:
        super().__init__()
        _start(self, 3, sizes, options)

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """Outputs and last states; without ``hx`` they start from zeros."""
        out, (final,) = _run(self, "gru", input, () if hx is None else (hx,))
        return out, final
