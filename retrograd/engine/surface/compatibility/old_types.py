"""The old tensor types (``FloatTensor`` …): constructors, and classes for ``isinstance`` by dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.argument_checks import refuse_other_device
from ...core.base import TensorBase, wrap
from ...core.size import Size
from ...table.public import public


class _OldType(type):
    """Every tensor of the dtype counts as an instance, although none is made by the class itself."""

    numpy: Any

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, TensorBase) and value._sig.numpy == cls.numpy

    def __call__(cls, *data: Any, device: Any = None) -> Any:
        refuse_other_device(device)
        if not data:
            return wrap(np.zeros((0,), cls.numpy))
        first = data[0]
        if len(data) == 1 and not isinstance(first, (int, Size)):
            if isinstance(first, (float, complex, str)):
                raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
            return wrap(np.array(first._array if isinstance(first, TensorBase) else first, dtype=cls.numpy))
        return wrap(np.zeros(tuple(first) if isinstance(first, Size) else data, cls.numpy))

    @property
    def dtype(cls) -> Any:
        """The dtype of tensors made by this type."""
        return wrap(np.zeros((), cls.numpy))._sig.dtype


for _name, _numpy in {
    "Half": np.float16, "Float": np.float32, "Double": np.float64, "Char": np.int8, "Short": np.int16, "Int": np.int32,
    "Long": np.int64, "Byte": np.uint8, "Bool": np.bool_,
}.items():  # fmt: skip
    public(_name + "Tensor", method=False)(
        _OldType(_name + "Tensor", (), {"numpy": np.dtype(_numpy), "__doc__": "Old type: makes tensors of its dtype."})
    )
