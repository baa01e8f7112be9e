"""The layers that small programs are made of."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from ..engine.table.methods import FUNCTIONS
from ..engine.table.public import NAMESPACES
from ..engine.tensors.parameter import Parameter
from .module import Module

_functional = NAMESPACES["nn.functional"]


def _uniform(shape: tuple[int, ...], bound: float, dtype: Any) -> Any:
    return Parameter(FUNCTIONS["empty"](*shape, dtype=dtype).uniform_(-bound, bound))


class Linear(Module):
    """``x @ weight.T + bias`` on the last dimension; weight ``(out_features, in_features)``.

    Weight and bias start uniform in ``±1/sqrt(in_features)``, as in torch.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        self.weight = _uniform((out_features, in_features), bound, dtype)
        self.register_parameter("bias", _uniform((out_features,), bound, dtype) if bias else None)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return _functional["linear"](input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes and bias."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class ReLU(Module):
    """``max(x, 0)``."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return input.relu_() if self.inplace else input.relu()


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return input.tanh()


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return input.sigmoid()


class Identity(Module):
    """The input itself."""

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return input


class Dropout(Module):
    """Zeros with probability ``p`` while training, the rest scaled by ``1 / (1 - p)``."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = p

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply the layer."""
        return _functional["dropout"](input, self.p, self.training)


class Sequential(Module):
    """Modules one after the other; given in order or as an ``OrderedDict``."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], OrderedDict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(modules):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply every module in turn."""
        for module in self:
            input = module(input)  # noqa: A001
        return input

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __getitem__(self, i: int) -> Any:
        return list(self._modules.values())[i]


class ModuleList(Module):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __getitem__(self, i: int) -> Any:
        return list(self._modules.values())[i]
