"""Checks and converts arguments and results of an operator call against its schema, as PyTorch's dispatcher does."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..core import dtypes
from ..core.devices import device
from ..tensors.tensor import Tensor
from .schema import Argument, FunctionSchema, SchemaType


class _Refused(Exception):
    """A value does not fit its declared type."""


def _tensor(value: Any) -> Any:
    if value is None or isinstance(value, Tensor):  # None means an undefined tensor
        return value
    raise _Refused


def _item(value: Any) -> Any:
    """A 0-d tensor counts as its number."""
    return value.item() if isinstance(value, Tensor) and value.dim() == 0 else value


def _int(value: Any) -> int:
    if isinstance(value, Tensor):
        return int(_item(value))
    try:
        return operator.index(value)
    except TypeError:
        raise _Refused from None


def _float(value: Any) -> float:
    value = _item(value)
    if isinstance(value, int | float | np.integer | np.floating):
        return float(value)
    raise _Refused


def _bool(value: Any) -> bool:
    if isinstance(value, str | Sequence):
        raise _Refused
    return bool(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, int | float | complex | np.number):
        return value
    raise _Refused


def _str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise _Refused


def _scalar_type(value: Any) -> Any:
    if isinstance(value, dtypes.dtype):
        return value
    raise _Refused


def _device(value: Any) -> Any:
    if isinstance(value, str | device):
        return device(value)
    raise _Refused


_CONVERT: Final[dict[str, Callable[[Any], Any]]] = {
    "Tensor": _tensor,
    "int": _int,
    "SymInt": _int,
    "DeviceIndex": _int,
    "float": _float,
    "bool": _bool,
    "SymBool": _bool,
    "Scalar": _scalar,
    "str": _str,
    "ScalarType": _scalar_type,
    "Device": _device,
}


def convert(value: Any, kind: SchemaType) -> Any:
    """``value`` as its declared type; raises ``_Refused`` if it does not have that type."""
    if not kind.wrappers:
        rule = _CONVERT.get(kind.base)
        return value if rule is None else rule(value)
    if kind.wrappers[-1] == "?":
        return None if value is None else convert(value, kind.inner())
    inner, size = kind.inner(), kind.fixed_size
    if size is not None and not isinstance(value, list | tuple):
        return [convert(value, inner)] * size
    if not isinstance(value, list | tuple) or (inner == SchemaType("Tensor") and any(v is None for v in value)):
        raise _Refused
    return [convert(v, inner) for v in value]


def default_of(argument: Argument) -> Any:
    """The value an argument has when it is left out; names of dtypes and devices become objects."""
    value, base = argument.default_value, argument.type.base
    if base == "ScalarType" and isinstance(value, str):
        return dtypes.by_name(value)
    if base == "Device" and isinstance(value, str):
        return device(value)
    return list(value) if isinstance(value, list) else value


def bind(
    schema: FunctionSchema, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """All positional and all keyword-only arguments of a call, converted, defaults filled in.

    ``RuntimeError`` names a missing, superfluous, unknown, twice-given or wrongly typed argument.
    """
    positional = schema.positional
    if len(args) > len(positional):
        raise RuntimeError(
            f"{schema.name}() expected at most {len(positional)} argument(s) but received {len(args)} argument(s). "
            f"Declaration: {schema}"
        )
    _check_keywords(schema, len(args), kwargs)
    bound: list[Any] = []
    keywords: dict[str, Any] = {}
    for position, argument in enumerate(schema.arguments):
        if position < len(args):
            value = _checked(schema, argument, args[position], position)
        elif argument.name in kwargs:
            value = _checked(schema, argument, kwargs[argument.name], position)
        elif argument.has_default_value():
            value = default_of(argument)
        else:
            raise RuntimeError(
                f"{schema.name}() is missing value for argument '{argument.name}'. Declaration: {schema}"
            )
        if argument.kwarg_only:
            keywords[argument.name] = value
        else:
            bound.append(value)
    return tuple(bound), keywords


def _check_keywords(schema: FunctionSchema, given: int, kwargs: Mapping[str, Any]) -> None:
    names = [a.name for a in schema.arguments]
    for name in kwargs:
        if name not in names:
            raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{schema.name}'. Schema: {schema}")
        if names.index(name) < given:
            raise RuntimeError(f"Argument '{name}' specified both as positional and keyword argument. Schema: {schema}")


def _checked(schema: FunctionSchema, argument: Argument, value: Any, position: int) -> Any:
    try:
        return convert(value, argument.type)
    except _Refused:
        raise RuntimeError(
            f"{schema.name}() Expected a value of type '{argument.type.described()}' for argument '{argument.name}' "
            f"but instead found type '{type(value).__name__}'.\nPosition: {position}\nValue: {value!r}\n"
            f"Declaration: {schema}"
        ) from None


def bind_result(schema: FunctionSchema, result: Any) -> Any:
    """A kernel's result in the declared structure: nothing, one value, or a tuple."""
    returns = schema.returns
    if not returns:
        if result is not None:
            raise RuntimeError(
                f"Expected the kernel of {schema.name} to return None but it returned something else instead "
                f"({type(result).__name__}); write the result into the schema or return nothing."
            )
        return None
    if len(returns) == 1 and not schema.returns_one_tuple:
        return _converted_result(schema, returns[0], result)
    if not isinstance(result, list | tuple):
        raise TypeError(f"Object of type '{type(result).__name__}' is not an instance of 'sequence'")
    if len(result) != len(returns):
        raise RuntimeError(f"{schema.name} is declared with {len(returns)} returns but its kernel gave {len(result)}.")
    return tuple(_converted_result(schema, r, value) for r, value in zip(returns, result, strict=True))


def _converted_result(schema: FunctionSchema, declared: Argument, value: Any) -> Any:
    try:
        return convert(value, declared.type)
    except _Refused:
        raise RuntimeError(
            f"Unable to cast {value!r} to {declared.type.described()}, which {schema.name} is declared to return."
        ) from None
