"""``torch.ops``: the engine's operators as ``ops.aten``, the program's own as ``ops.namespace``."""

from __future__ import annotations

from .engine.custom_op.aten_forward import FORWARD as _FORWARD
from .engine.custom_op.aten_functional import FUNCTIONAL as _FUNCTIONAL
from .engine.custom_op.registry import OpNamespace
from .engine.custom_op.registry import ops as _root
from .engine.methods import FUNCTIONS as _FUNCTIONS
from .engine.overriding.aten import AtenNamespace, aten
from .engine.overriding.aten import forward as _forward
from .engine.overriding.aten import functions as _functions
from .engine.overriding.aten_backward import BACKWARD as _BACKWARD
from .engine.table.public import METHODS as _METHODS
from .engine.table.public import NAMESPACES as _NAMESPACES

_forward.update(_FORWARD)
_functions.update({**_METHODS, **_FUNCTIONAL, **_BACKWARD, **_NAMESPACES["nn.functional"], **_FUNCTIONS, **_FORWARD})
for _space in ("linalg", "fft", "special"):
    _functions.update({f"{_space}_{_name}": _function for _name, _function in _NAMESPACES[_space].items()})

__all__ = ["aten"]


def __getattr__(name: str) -> OpNamespace | AtenNamespace:
    return aten if name == "aten" else getattr(_root, name)


def __dir__() -> list[str]:
    return dir(_root)
