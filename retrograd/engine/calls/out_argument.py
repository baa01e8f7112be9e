"""``out=``: which dtypes it may have; results are written, without history, into tensors that the caller passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from .. import observe
from ..aliasing.views import requires_grad
from ..aliasing.write_rules import check_inplace, check_operands, check_repeated, reads_apart
from ..core.argument_checks import type_name_of
from ..core.base import TensorBase, set_array
from ..core.bits import assign
from ..core.dtypes import c_name, is_castable, scalar_name
from ..forward_mode.forward_ad import carries_tangent
from ..return_types import named_alike
from ..switches.state import STATE
from ..warning import warn
from .inplace import bump_version, prepare_write

# How functions treat `out=`: which dtypes it may have, and how results are written to it.


class OutDtype(Enum):
    """The dtypes that ``out=`` may have; the values are words of the table of signatures."""

    CASTABLE = ""
    """One to which the result can be cast."""
    EXACT = "exact"
    """The dtype of the result."""
    FREE = "free"
    """Any; functions with ``dtype=`` compute in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Out:
    """How one function treats ``out=``, if that does not follow from PyTorch's signatures."""

    exact: bool = False
    """It must have the dtype of the result, although the signatures do not say so."""
    rows: bool = False
    """It lies row by row where it gets its size from the result, however that would lie itself."""
    floating: bool = False
    """It must have a real floating dtype, whatever else PyTorch says about the result's dtype."""
    copied: bool = False
    """PyTorch composes the function of others and copies their result into it: row by row, and with its history."""


USUAL = Out()
"""The treatment by nearly all functions."""


# `out=`: results are written, without history, into tensors that the caller passes.

# What PyTorch says of an `out=` whose dtype cannot take a result: several functions have a sentence of their own.

_BOOLEAN = "{name} does not support non-boolean outputs."
_ALL = "{name} only supports bool tensor for result, got: {have}"
_SAME = "{name}(): self and result must have the same scalar type"
_COMPLEX = "Expected object of scalar type {want} but got scalar type {have} for argument 'out'"
_JOINED = "torch.cat(): input types can't be cast to the desired output type {have}"
_EIGEN = (
    "torch.linalg.{name}: Expected eigenvalues to be safely castable from {want} dtype, but got eigenvalues with "
    "dtype {have}"
)
_SPECTRUM = "{name} expects a complex output tensor, but got {have}"
_SIGNAL = "{name} expects a floating point output tensor, but got {have}"
_SEARCHED = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
    "whether out_int32 flag is True"
)
_QUANTILE = "quantile() out tensor must be same dtype as the input tensor"
_EXTREME = "Expected the dtype for input and out to match, but got {want} for input's dtype and {have} for out's dtype."
_SENTENCES = {
    "all": _ALL, "any": _ALL, "isneginf": _BOOLEAN, "isposinf": _BOOLEAN, "signbit": _BOOLEAN,
    "index_select": _SAME, "masked_select": _SAME, "kthvalue": "output values must be of same type as input",
    "quantile": _QUANTILE, "nanquantile": _QUANTILE, "complex": _COMPLEX, "polar": _COMPLEX,
    "eig": _EIGEN, "eigvals": _EIGEN, "bucketize": _SEARCHED, "searchsorted": _SEARCHED,
    "float_power": "the output given to {name} has dtype {have} but the operation's result requires dtype {want}",
    "amax": _EXTREME, "amin": _EXTREME,
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "matrix_norm": "linalg.matrix_norm expected out tensor dtype {want} but got: {have}",
    "vecdot": "linalg.vecdot: Expected out of dtype{want} but found {have}",
    "fft": _SPECTRUM, "ifft": _SPECTRUM, "rfft": _SPECTRUM, "ihfft": _SPECTRUM, "fftn": _SPECTRUM, "ifftn": _SPECTRUM,
    "rfftn": _SPECTRUM, "ihfftn": _SPECTRUM, "irfft": _SIGNAL, "hfft": _SIGNAL, "irfftn": _SIGNAL, "hfftn": _SIGNAL,
    "irfft2": _SIGNAL, "hfft2": _SIGNAL,
}  # fmt: skip
_JOINING = frozenset(
    {"cat", "concat", "concatenate", "stack", "hstack", "vstack", "row_stack", "dstack", "column_stack"}
)


def refused_dtype(name: str, have: str, want: str, usual: str) -> Exception:
    """The error for an ``out=`` of dtype ``have`` where a function returns ``want``; ``usual`` is the usual wording."""
    if name in _JOINING:
        return TypeError(_JOINED.format(have=have))
    return RuntimeError(_SENTENCES.get(name, usual).format(name=name, have=have, want=want))


def write_out(
    function: Callable[..., Any],
    out: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    dtype: OutDtype,
    how: Out = USUAL,
) -> Any:
    """Compute into ``out``: no history; refused when anything requires grad under grad mode, or has a tangent.

    What is copied keeps its history.
    """
    several = isinstance(out, (tuple, list))
    targets = tuple(out) if several else (out,)
    name = getattr(function, "name", getattr(function, "__name__", "function"))
    operands = list(_tensors_in((*args, *kwargs.values())))
    _check_targets(name, targets, [] if how.copied else operands)
    if dtype is OutDtype.FREE and kwargs.get("dtype") is not None:
        dtype = OutDtype.EXACT
    elif dtype is OutDtype.FREE and "dtype" in _arguments(function):
        kwargs = {**kwargs, "dtype": targets[0].dtype}
    result = function(*args, **kwargs)
    if isinstance(result, (tuple, list)) != several:
        wanted = "Tensor" if several else "tuple of Tensors"
        raise TypeError(f"{name}(): argument 'out' must be {wanted}, not {type_name_of(out)}")
    results = result if several else (result,)
    if len(results) != len(targets):
        raise TypeError(f"{name}(): expected tuple of {len(results)} elements but got {len(targets)} as 'out'")
    if not how.copied:
        _refuse_lost_history(name, targets, results)
    if how.floating:
        _check_floating(name, targets)
    if dtype is OutDtype.EXACT:
        _check_dtypes(name, targets, results)
    for target, value in zip(targets, results, strict=True):
        if dtype is not OutDtype.FREE:
            _check_cast(name, target, value)
        _fit(name, target, value, operands)
        if how.copied and _is_recorded(target, value):
            _copy(target, value)
        else:
            _put(target, value, rows=how.copied or how.rows)
    return named_alike(result, out)


def _is_recorded(target: Any, value: Any) -> bool:
    """Whether a copy into ``out=`` has a derivative."""
    return (STATE.grad_enabled and (requires_grad(target) or requires_grad(value))) or carries_tangent([value])


def _copy(out: Any, value: Any) -> None:
    """Write a result into ``out=`` with its history; a leaf that requires grad is rejected."""
    if out._sig.shape != value._sig.shape:
        set_array(out, np.empty(value._sig.shape, out._sig.numpy))
    out.copy_(value)


def _check_targets(name: str, targets: tuple[Any, ...], operands: list[Any]) -> None:
    """Reject targets that are not tensors, or have a tangent, which ``out=`` would lose."""
    for t in targets:
        if not isinstance(t, TensorBase):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(t).__name__}")
    if STATE.forward_grad_enabled and carries_tangent([*operands, *targets]):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
        )


def _refuse_lost_history(name: str, targets: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    """Reject results whose history would be lost; booleans and indices have none."""
    refuse_recorded(f"{name}()", *results)
    if any(t._sig.kind in "fc" for t in results):
        refuse_recorded(f"{name}()", *targets)


def refuse_recorded(name: str, *tensors: Any) -> None:
    """``RuntimeError`` where one of the tensors requires grad, whose history ``out=`` would lose."""
    if STATE.grad_enabled and any(requires_grad(t) for t in tensors if isinstance(t, TensorBase)):
        raise RuntimeError(
            f"{name}{': ' * bool(name)}functions with out=... arguments don't support automatic differentiation, but "
            "one of the arguments requires grad."
        )


def _tensors_in(values: Iterable[Any]) -> Iterator[TensorBase]:
    """The tensors among arguments, and in the lists among them."""
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (t for t in value if isinstance(t, TensorBase))


def _arguments(function: Any) -> tuple[str, ...]:
    """The argument names of a row or a hand-written function."""
    code = getattr(function, "__code__", None)
    return (
        tuple(getattr(function, "params", ()))
        if code is None
        else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    )


def _check_dtypes(name: str, targets: Iterable[Any], results: Iterable[Any]) -> None:
    for target, value in zip(targets, results, strict=True):
        have, want = target._sig.numpy, value._sig.numpy
        if have != want and (have.name, want.name) != ("uint8", "bool"):
            usual = f"Expected out tensor to have dtype {c_name(want)}, but got {c_name(have)} instead"
            raise refused_dtype(name, scalar_name(have), scalar_name(want), usual)


def _check_floating(name: str, targets: Iterable[Any]) -> None:
    for target in targets:
        if target._sig.kind != "f":
            raise refused_dtype(name, scalar_name(target._sig.numpy), "", "")


def _check_cast(name: str, out: Any, value: Any) -> None:
    """Refuse a dtype that cannot hold the result."""
    have, want = [scalar_name(t._sig.numpy) for t in (out, value)]
    if not is_castable(value._sig.numpy, out._sig.numpy):
        usual = (
            f"result type {want} can't be cast to the desired output type {have}; give an out= of a dtype that can "
            "hold the result"
        )
        raise refused_dtype(name, have, want, usual)


def _fit(name: str, out: Any, value: Any, operands: list[Any]) -> None:
    """Refuse memory that is read as well; warn where ``out`` changes its shape."""
    if out._sig.shape == value._sig.shape or reads_apart(name):
        check_operands(name, out._array, operands)
    if out._sig.shape == value._sig.shape:
        check_repeated(out._array)
    if out._sig.shape != value._sig.shape and out._sig.shape.numel():
        warn(
            f"An output with one or more elements was resized since it had shape {list(out._sig.shape)}, which does "
            f"not match the required output shape {list(value._sig.shape)}. This behavior is deprecated, and in a "
            "future PyTorch release outputs will not be resized unless they have zero elements. You can explicitly "
            "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
        )


def created_into(out: Any, made: Any, dtype: Any) -> Any:
    """The result of a creation function in ``out``, whose dtype counts; ``RuntimeError`` if another was requested."""
    if out is None:
        return made
    refuse_recorded("", out)
    if dtype is not None and out._sig.numpy != made._sig.numpy:
        raise RuntimeError(
            f"dtype {scalar_name(made._sig.numpy)} does not match dtype of out parameter "
            f"({scalar_name(out._sig.numpy)})"
        )
    _put(out, made)
    return out


def _put(out: Any, value: Any, *, rows: bool = False) -> None:
    check_inplace(out, False)
    if observe.observers:
        observe.notify("writing_out", value, out)
    prepare_write(out)
    if out._sig.shape == value._sig.shape:
        assign(out, value._array)
    elif out._array.size and out._meta is not None and out._meta.view is not None:
        out.resize_(tuple(value._sig.shape))  # it stays in the memory that it shares
        assign(out, value._array)
        return
    else:
        set_array(out, np.array(value._array, out._sig.numpy, order="C" if rows else "K"))  # as it would lie itself
    bump_version(out)
