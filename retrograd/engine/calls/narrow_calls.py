"""Calls with operands of dtypes that NumPy lacks: computed in single precision and rounded once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..core.dtypes import dtype, float32
from ..core.narrow import LOADED, is_eight_bits, is_narrow, kind_of, rounded, widened
from ..switches.quiet import quietly
from ..table.op import OpDef
from .refusals import without_kernel

_WIDE = np.dtype(np.float32)
_OF_EIGHT_BITS = frozenset({
    "eq", "ne", "isnan", "any", "all", "where", "roll", "index_put", "embedding", "block_diag", "diagonal_copy",
    "select_scatter",
})  # fmt: skip
"""What PyTorch computes of numbers of eight bits: it compares and moves them."""


def is_of_them(op: OpDef, arrays: list[Any]) -> bool:
    """Whether the operands of a call, or the dtype that it asks for, are not NumPy's, so that it needs ``computed``."""
    if op.view or op.as_given:
        return False
    if "dtype" in op.params and is_narrow(arrays[op.params.index("dtype")]):
        return True
    found = {value.dtype for i in op.tensor_positions for value in _arrays_in(arrays[i]) if kind_of(value.dtype) == "f"}
    if len(found) > 1 and not (op.promote or op.mixes):
        return False  # the forward refuses them
    return not found.isdisjoint(LOADED)


def _arrays_in(value: Any) -> list[Any]:
    """An argument, or those in a list, as far as they are arrays."""
    return [part for part in (value if value.__class__ is list else (value,)) if part.__class__ is np.ndarray]


def computed(op: OpDef, arrays: list[Any]) -> Any:
    """The forward of single precision; results of that are rounded to the dtype of the first floating operand."""
    given, numpy = list(arrays), _dtype_of(op, arrays)
    for i in op.tensor_positions:
        given[i] = widened(arrays[i])
    if "dtype" in op.params:
        place = op.params.index("dtype")
        asked = getattr(arrays[place], "numpy", arrays[place])
        numpy = numpy if asked is None else asked
        if is_narrow(asked):
            given[place] = float32 if isinstance(arrays[place], dtype) else _WIDE
    if is_eight_bits(numpy) and op.name.strip("_") not in _OF_EIGHT_BITS:
        raise without_kernel(op.name.strip("_"), [numpy])
    forward = op.forward
    if numpy in LOADED:
        _round_numbers(op, given, numpy)
        forward = _forward_for(forward, numpy)
    made = quietly(forward, given)
    if isinstance(made, TensorBase):  # a sparse one, whose parts are computed by operators of their own
        return quietly(op.forward, arrays)
    if numpy not in LOADED:
        return made
    if op.outputs == 1 and not op.aux:
        return narrowed(made, numpy)
    count = len(made) - len(op.aux)
    return (*[narrowed(out, numpy) for out in made[:count]], *made[count:])


def _forward_for(forward: Any, numpy: Any) -> Any:
    """The forward that computes in single precision; one that rounds intermediate results rounds them to ``numpy``."""
    in_steps = getattr(forward, "in_steps", None)
    if in_steps is None:
        return getattr(forward, "of_wider", forward)
    return functools.partial(in_steps, lambda value: widened(rounded(np.asarray(value), numpy)))


def _dtype_of(op: OpDef, arrays: list[Any]) -> Any:
    """The dtype of the first floating operand."""
    for i in op.tensor_positions:
        for value in _arrays_in(arrays[i]):
            if kind_of(value.dtype) in "fc":
                return value.dtype
    return None


def narrowed(value: Any, numpy: Any) -> Any:
    """A result of single precision, rounded; any other as it is."""
    if value.__class__ is not np.ndarray:
        value = np.asarray(value)
    return rounded(value, numpy) if value.dtype == _WIDE else value


def _round_numbers(op: OpDef, given: list[Any], numpy: Any) -> None:
    """Round the numbers that PyTorch makes tensors of."""
    first = getattr(op.forward, "rounds", None)
    for i in op.tensor_positions if first is None else range(first):
        if i < len(given) and given[i].__class__ in (int, float):
            given[i] = float(numpy.type(given[i]))


def computed_into(op: OpDef, arrays: list[Any]) -> None:
    """The result of ``op.into``, computed in single precision and rounded as it is written."""
    given = [widened(value) for value in arrays]
    _round_numbers(op, given, arrays[0].dtype)
    assert op.into is not None
    op.into(*given)
    arrays[0][...] = given[0]
