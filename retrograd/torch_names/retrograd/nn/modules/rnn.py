"""Recurrent layers: ``RNN``, ``LSTM`` and ``GRU`` over padded or packed sequences."""

from __future__ import annotations

import math
import numbers
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ...engine.devices import casting
from ...engine.methods import FUNCTIONS
from ...engine.tensors.parameter import Parameter
from .. import init
from ..module import Module
from ..utils.rnn import PackedSequence
from .recurrent_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

_COMPUTED: weakref.WeakKeyDictionary[Module, dict[str, weakref.ref[Any]]] = weakref.WeakKeyDictionary()
"""What stood under the names of weights the last time."""
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Sizes, options and parameters of recurrent layers, uniform in ``±1/sqrt(hidden_size)``."""

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(_probability(dropout))
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check()
        self._name_weights()
        for name, shape in self._shapes():
            setattr(self, name, Parameter(FUNCTIONS["empty"](*shape, device=device, dtype=dtype)))
        self._remember_parameters()
        self.reset_parameters()

    def _name_weights(self) -> None:
        self._flat_weights_names = [name for name, _ in self._shapes()]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)  # states from before there were projections
        self._name_weights()

    def _check(self) -> None:
        """Warn of dropout without effect; raise ``TypeError`` or ``ValueError`` for sizes that cannot be."""
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={self.dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name in ("input_size", "hidden_size", "num_layers"):
            if not isinstance(getattr(self, name), int):
                kind = type(getattr(self, name)).__name__
                raise TypeError(f"{name} should be of type int, got: {kind}")
        for name in ("bias", "batch_first"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} should be of type bool, got: {type(getattr(self, name)).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    def _remember_parameters(self) -> None:
        _COMPUTED[self] = {name: weakref.ref(p) for name, p in self._parameters.items() if p is not None}

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        known = _COMPUTED.pop(self, None) is not None  # tensors to which weak references exist cannot be exchanged
        try:
            return super()._apply(fn, recurse)
        finally:
            if known:
                self._remember_parameters()

    def _shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the parameters, layer by layer, direction by direction."""
        rows, width = _GATES[self.mode] * self.hidden_size, 2 if self.bidirectional else 1
        out = self.proj_size or self.hidden_size
        for layer in range(self.num_layers):
            inner = self.input_size if layer == 0 else out * width
            for suffix in ("", "_reverse")[:width]:
                yield f"weight_ih_l{layer}{suffix}", (rows, inner)
                yield f"weight_hh_l{layer}{suffix}", (rows, out)
                if self.bias:
                    yield f"bias_ih_l{layer}{suffix}", (rows,)
                    yield f"bias_hh_l{layer}{suffix}", (rows,)
                if self.proj_size:
                    yield f"weight_hr_l{layer}{suffix}", (self.proj_size, self.hidden_size)

    @property
    def _flat_weights(self) -> list[Any]:
        """What stands under the names of the weights: parameters, or what was computed of others in their place."""
        known = self._parameters
        computed = [name for name in self._flat_weights_names if name not in known]
        if not computed:
            return list(map(known.__getitem__, self._flat_weights_names))
        found = known | self._computed(computed)
        return [found[name] for name in self._flat_weights_names]

    def _computed(self, names: list[str]) -> dict[str, Any]:
        """What is computed in the place of parameters.

        Whoever computes them counts how often they are looked at, as norms do, which are nearer to the truth each time.
        So they are looked at as PyTorch does it: twice each, up to the first that is another one than the last time,
        and then all once more.
        """
        last, found = _COMPUTED.get(self, {}), {}
        for name in names:
            found[name] = self._looked_at(name)
            if name not in last or last[name]() is not found[name]:
                found = {name: self._looked_at(name) for name in names}
                refs = {name: weakref.ref(value) for name, value in found.items() if value is not None}
                _COMPUTED[self] = {**last, **refs}
                break
        return found

    def _looked_at(self, name: str) -> Any:
        return getattr(self, name) if hasattr(self, name) else None

    def _of_directions(self, flat: list[Any]) -> list[list[Any]]:
        per = 2 + 2 * self.bias + bool(self.proj_size)
        return [flat[i : i + per] for i in range(0, len(flat), per)]

    @property
    def _all_weights(self) -> list[list[str]]:
        return self._of_directions(self._flat_weights_names)

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each direction of each layer."""
        return self._of_directions(self._flat_weights)

    def reset_parameters(self) -> None:
        """Draw all of them."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: parameters need not lie together here."""

    def extra_repr(self) -> str:
        """Sizes, and options where they are not the usual ones."""
        said, usual = f"{self.input_size}, {self.hidden_size}", {"proj_size": 0, "num_layers": 1, "bias": True}
        for name, value in {**usual, "batch_first": False, "dropout": 0, "bidirectional": False}.items():
            if getattr(self, name) != value:
                said += f", {name}={getattr(self, name)}"
        return said

    def _zeros(self, like: Any, batch: int) -> list[Any]:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        widths = [self.proj_size or self.hidden_size, self.hidden_size][: 2 if self.mode == "LSTM" else 1]
        return [FUNCTIONS["zeros"](layers, batch, width, dtype=like.dtype, device=like.device) for width in widths]

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """Outputs and last states; without ``hx`` they start from zeros."""
        out, (final,) = self._run(input, () if hx is None else (hx,))
        return out, final

    def _run(self, sequence: Any, states: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Outputs and last states of a padded, an unbatched or a packed sequence; no states: zeros."""
        if isinstance(sequence, PackedSequence):
            return self._run_packed(sequence, states)
        if sequence.ndim not in (2, 3):
            name, found = type(self).__name__, f"{sequence.ndim}D{' tensor' * self.mode.startswith('RNN')}"
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {found} instead")
        self._check_dtype(sequence)
        batched, at = sequence.ndim == 3, 0 if self.batch_first else 1
        x = sequence if batched else sequence.unsqueeze(at)
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )
        if not x.shape[1 - at]:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        self._check_ranks(states, sequence.ndim)
        started = [s if batched else s.unsqueeze(1) for s in states] or self._zeros(x, x.shape[at])
        self._check_states(started, x)
        out, *finals = self._call(x, started, self.batch_first)
        return (out if batched else out.squeeze(at)), tuple(f if batched else f.squeeze(1) for f in finals)

    def _check_dtype(self, sequence: Any) -> None:
        first = self._parameters.get(self._flat_weights_names[0])  # what is computed in its place is not looked at
        wanted = sequence.dtype if first is None else first.dtype
        if sequence.dtype != wanted and not FUNCTIONS["is_autocast_enabled"]("cpu"):
            raise ValueError(
                f"RNN input dtype ({sequence.dtype}) does not match weight dtype ({wanted}). Convert input: "
                f"input.to({wanted}), or convert model: model.to({sequence.dtype})"
            )

    def _check_ranks(self, states: tuple[Any, ...], ndim: int) -> None:
        if not states or all(s.ndim == ndim for s in states):
            return
        ranks = ", ".join(f"{s.ndim}-D" for s in states)
        named, found = ("hx and cx", f"({ranks}) tensors") if self.mode == "LSTM" else ("hx", f"{ranks} tensor")
        kind = "batched" if ndim == 3 else "unbatched"
        raise RuntimeError(f"For {kind} {ndim}-D input, {named} should also be {ndim}-D but got {found}")

    def _run_packed(self, sequence: Any, states: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        order, back = sequence.sorted_indices, sequence.unsorted_indices
        started = [self.permute_hidden(s, order) for s in states]
        started = started or self._zeros(sequence.data, int(sequence.batch_sizes[0]))
        data, *finals = self._call(sequence.data, started, batch_sizes=sequence.batch_sizes)
        return sequence._replace(data=data), tuple(f if back is None else f.index_select(1, back) for f in finals)

    def _check_states(self, states: list[Any], x: Any) -> None:
        expected = [self.get_expected_hidden_size(x, None)]
        if self.mode == "LSTM":
            expected.append((*expected[0][:2], self.hidden_size))
        for i, (state, size) in enumerate(zip(states, expected, strict=False)):
            name = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
            self.check_hidden_size(state, size, f"Expected {name} size {{}}, got {{}}")

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:  # noqa: A002
        """The shape of hidden states for a batch."""
        batch = input.shape[0 if self.batch_first else 1] if batch_sizes is None else int(batch_sizes[0])
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return layers, batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Any, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """``RuntimeError`` with both shapes in ``msg`` for states of another shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """States with their batch in another order; ``None``: as they are."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def _call(self, x: Any, states: list[Any], *layout: bool, batch_sizes: Any = None) -> Any:
        hx = tuple(states) if self.mode == "LSTM" else states[0]
        given = (x, hx) if batch_sizes is None else (x, batch_sizes, hx)
        how = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        name = self.mode.lower()
        return FUNCTIONS[name](*casting.arguments(name, (*given, self._flat_weights, *how, *layout)))


def _probability(given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, numbers.Number) or not 0 <= given <= 1:  # type: ignore[operator]
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    return given


class RNN(RNNBase):
    """``tanh`` or ``relu`` of both linear maps: outputs and last states."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", *args: Any,
        **options: Any,
    ) -> None:  # fmt: skip
        if "proj_size" in options:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **options)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997)."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__("LSTM", *args, **options)

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """Outputs, and the last hidden and cell states; without ``hx`` they start from zeros."""
        return self._run(input, () if hx is None else tuple(hx))


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014)."""

    def __init__(self, *args: Any, **options: Any) -> None:
        if "proj_size" in options:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **options)


__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]
