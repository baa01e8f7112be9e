"""One step of a recurrent layer."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ...engine.devices import casting
from ...engine.methods import FUNCTIONS
from ...engine.tensors.parameter import Parameter
from .. import init
from ..module import Module


class RNNCellBase(Module):
    """Sizes and parameters, uniform in ``±1/sqrt(hidden_size)``."""

    __module__ = "retrograd.nn.modules.rnn"

    gates: ClassVar[int] = 1
    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows, place = self.gates * hidden_size, {"device": device, "dtype": dtype}
        for name, width in (("ih", input_size), ("hh", hidden_size)):
            self.register_parameter(f"weight_{name}", Parameter(FUNCTIONS["empty"](rows, width, **place)))
        for name in ("ih", "hh"):
            self.register_parameter(f"bias_{name}", Parameter(FUNCTIONS["empty"](rows, **place)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all of them."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """Sizes, and options where they are not the usual ones."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")

    def _step(self, name: str, input: Any, states: tuple[Any, ...] | None) -> Any:  # noqa: A002
        """One step of a batch, or of one input; without states they are zeros."""
        kind = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{kind}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        for i, state in enumerate(states or ()):
            if state.ndim not in (1, 2):
                named = f"hx[{i}]" if kind == "LSTMCell" else "hidden"
                raise ValueError(f"{kind}: Expected {named} to be 1D or 2D, got {state.ndim}D instead")
        single = input.ndim == 1
        x = input.unsqueeze(0) if single else input
        given = [state.unsqueeze(0) if single else state for state in states or ()]
        if not given:
            zeros = FUNCTIONS["zeros"](x.shape[0], self.hidden_size, dtype=x.dtype, device=x.device)
            given = [zeros] * (2 if name == "lstm_cell" else 1)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        out = FUNCTIONS[name](*casting.arguments(name, (x, given if name == "lstm_cell" else given[0], *weights)))
        if not single:
            return out
        return tuple(part.squeeze(0) for part in out) if isinstance(out, tuple) else out.squeeze(0)


class RNNCell(RNNCellBase):
    """``tanh`` (or ``relu``) of the sum of both linear maps."""

    __module__ = "retrograd.nn.modules.rnn"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """The next hidden state."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"rnn_{self.nonlinearity}_cell", input, None if hx is None else (hx,))

    def extra_repr(self) -> str:
        """Sizes, and options where they are not the usual ones."""
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class LSTMCell(RNNCellBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997)."""

    __module__ = "retrograd.nn.modules.rnn"

    gates = 4

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """The next hidden and cell states."""
        return self._step("lstm_cell", input, None if hx is None else tuple(hx))


class GRUCell(RNNCellBase):
    """Gated recurrent unit (Cho et al. 2014)."""

    __module__ = "retrograd.nn.modules.rnn"

    gates = 3

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """The next hidden state."""
        return self._step("gru_cell", input, None if hx is None else (hx,))
