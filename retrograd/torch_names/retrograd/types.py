"""``torch.types``: names for annotations."""

import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from .engine.core.devices import device as _device
from .engine.core.dtypes import dtype as _dtype
from .engine.core.layouts import layout as _layout
from .engine.core.size import Size
from .engine.nodes.edges import GradientEdge
from .engine.surface.attributes.storages import UntypedStorage as Storage
from .engine.symbolic import SymBool, SymFloat, SymInt
from .engine.tensors.tensor import Tensor

_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor] | GradientEdge | Sequence[GradientEdge]
Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
PySymType: TypeAlias = SymInt | SymFloat | SymBool
py_sym_types = (SymInt, SymFloat, SymBool)

__all__ = [
    "Any", "BoolLikeType", "Device", "FileLike", "FloatLikeType", "IntLikeType", "Number", "PySymType", "Sequence",
    "Size", "Storage", "SymBool", "SymFloat", "SymInt", "Tensor", "_Number", "_TensorOrOptionalTensors",
    "_TensorOrTensors", "_TensorOrTensorsOrGradEdge", "_bool", "_bytes", "_complex", "_device", "_dtype", "_float",
    "_int", "_layout", "_size", "_str", "py_sym_types",
]  # fmt: skip
