"""Operands of several dtypes are cast to their common one before a call."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aliasing.versions import share_storage
from ..aliasing.views import gradient_edge
from ..core.base import TensorBase, is_inference
from ..core.dtypes import get_default_dtype, result_dtype
from ..core.narrow import kind_of
from ..core.registry import OPS
from ..table.op import OpDef
from .refusals import refuse_truth_values

_SINGLE = np.dtype(np.float32)
Number = (bool, int, float, complex)


def same_dtype(op: OpDef, args: tuple[Any, ...]) -> bool:
    """The common case: all tensors have one floating dtype, and other operands are real numbers."""
    if op.lists:
        return op.kind == "linear" and _same_in_list(args[op.tensor_positions[0]])
    first: Any = None
    for i in op.tensor_positions:
        value = args[i]
        if isinstance(value, TensorBase):
            numpy = value._sig.numpy
            if first is None:
                first = numpy
                if not value._sig.differentiable:
                    return False
            elif numpy is not first:
                return False
        elif value is not None and value.__class__ not in ((int, float, bool) if op.truth else (int, float)):
            return False
    return True


def _same_in_list(tensors: Any) -> bool:
    """Whether all elements are tensors of one floating dtype."""
    try:
        kinds = {sig.numpy.char for sig in {t._sig for t in tensors}}
    except AttributeError:  # numbers among them
        return False
    return len(kinds) == 1 and kinds.pop() in ("e", "E", "f", "d", "F", "D")


def stand_in(t: TensorBase, numpy: np.dtype[Any]) -> Any:
    """A tensor's values in another dtype; its gradient is the tensor's, and so are its writes."""
    made = OPS["_to_copy"](t, numpy)
    if made._meta is None:
        if made._fn is not None:
            made._fn = gradient_edge(t)  # which casts what it gets
        share_storage(made, t)
        made.need_meta().inference = is_inference(t)
    return made


def promoted(op: OpDef, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Cast the operands to their common dtype, as a kernel does: the graph knows nothing of it."""
    dimensioned: list[Any] = []
    zero_dim: list[Any] = []
    numbers: list[Any] = []
    for v in _promotable(op, args):
        if isinstance(v, TensorBase):
            wrapped = v._meta is not None and v._meta.wrapped_number
            (numbers if wrapped else dimensioned if v._sig.shape else zero_dim).append(
                v._array.item() if wrapped else v._sig.numpy
            )
        elif isinstance(v, Number):
            numbers.append(v)
        elif v is not None:
            raise TypeError(
                f"{op.name}(): argument '{op.tensor_names[min(1, len(op.tensor_names) - 1)]}' must be Tensor or "
                f"number, not {type(v).__name__}"
            )
    if not op.truth:
        refuse_truth_values(_promotable(op, args))
    common = result_dtype(dimensioned, zero_dim, numbers)
    if op.promote == "float" and kind_of(common) not in "fc":
        common = get_default_dtype().numpy
    return _cast_all(op, args, common)


def _promotable(op: OpDef, args: tuple[Any, ...]) -> list[Any]:
    flat: list[Any] = []
    for i in op.tensor_positions:
        value = args[i]
        flat.extend(value) if i in op.list_positions and value is not None else flat.append(value)
    return flat


def _cast_all(op: OpDef, args: tuple[Any, ...], common: np.dtype[Any]) -> tuple[Any, ...]:
    result = list(args)
    # as a factor or divisor of halves, one number is not rounded before
    exact = common.itemsize == 2 and kind_of(common) == "f" and getattr(op.forward, "rounds", None) == 0
    for i in op.tensor_positions:
        value = args[i]
        if i in op.list_positions and value is not None:
            result[i] = [cast(v, common) for v in value]
        else:
            whole = exact and i > 0 and isinstance(value, TensorBase) and _is_one_float(value)
            result[i] = cast(value, _SINGLE if whole else common)
    return tuple(result)


def _is_one_float(t: TensorBase) -> bool:
    """Whether a tensor is one number of single or double precision."""
    return not t._sig.shape and t._sig.numpy.char in "fd"


def cast(value: Any, numpy: np.dtype[Any]) -> Any:
    """A tensor in another dtype; a number as NumPy number of that dtype; ``None`` stays."""
    if isinstance(value, TensorBase):
        return value if value._sig.numpy == numpy else stand_in(value, numpy)
    if value is None:
        return None
    kind = kind_of(numpy)
    if kind == "c":
        return complex(value)
    if kind == "f":
        return float(value)
    if (kind in "iu" and not -128 <= value <= 127) or (value < 0 and kind == "u"):
        return int(np.asarray(value).astype(numpy))  # numbers wrap around as in PyTorch
    return value
