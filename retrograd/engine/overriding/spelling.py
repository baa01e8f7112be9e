"""Converts a row's arguments to the form that dispatch handlers receive (keywords, ``torch.dtype``), and back."""

from __future__ import annotations

from typing import Any, Final

from ..aliasing.strided import Geometry, storage_offset
from ..core.dtypes import from_numpy_dtype
from .schema_forms import FORMS, in_schema

_FACTORS: Final = ("add", "sub", "rsub", "_rsub_number", "addmm", "addmv", "baddbmm", "addbmm", "addr", "_index_add")
_NAMED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(_FACTORS, ("alpha", "beta")),
    **dict.fromkeys(("_var", "_std", "_var_mean", "_std_mean"), ("correction", "keepdim")),
    **dict.fromkeys(("_addcmul", "_addcdiv"), ("value",)),
    **dict.fromkeys(("sum", "_sum_dim", "mean", "_mean_dim", "_prod", "_prod_dim", "_nansum"), ("dtype",)),
    **dict.fromkeys(("cumsum", "cumprod", "_vector_norm"), ("dtype",)),
    "gelu": ("approximate",),
    "clone": ("memory_format",),
}
"""Row -> its parameters that PyTorch takes by keyword only."""
_HALVED: Final = ("_softmax", "_log_softmax")
"""Rows that in PyTorch have a third argument, for half precision on GPUs."""


_INDEXED: Final = ("_index", "_index_put")
"""Rows whose second argument has slices where PyTorch has ``None``, for whole dimensions."""


def _as_index(part: Any) -> Any:
    return None if isinstance(part, slice) else part


def _as_part(index: Any) -> Any:
    return slice(None) if index is None else index


def _as_list(value: Any) -> Any:
    """Sizes and dimensions are lists to handlers."""
    return list(value) if isinstance(value, tuple) and all(isinstance(part, int) for part in value) else value


def _as_tuple(value: Any) -> Any:
    """Sizes and dimensions are tuples to rows."""
    return tuple(value) if isinstance(value, list) and all(isinstance(part, int) for part in value) else value


def spelled(op: Any, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments as PyTorch's dispatcher shows them, without defaults at the end."""
    shown, named = _by_position(op, args)
    return tuple(map(_as_list, shown)), named


def _by_position(op: Any, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    given = list(args)
    while len(given) > op.required and given[-1] is op.defaults[len(given) - op.required - 1]:
        given.pop()
    if op.name in FORMS:
        return in_schema(FORMS[op.name], tuple(given)), {}
    if op.name == "_to_copy":
        return (given[0],), {"dtype": from_numpy_dtype(given[1]), **dict(zip(op.params[2:], given[2:], strict=False))}
    if op.name == "as_strided":
        return tuple(given[: 4 if given[3] is not None else 3]), {}
    if op.name in _INDEXED:
        return (given[0], [_as_index(part) for part in given[1]], *given[2:]), {}
    if op.name in _HALVED:
        return (*given[:2], False), {}
    names = _NAMED.get(op.name)
    if names is None:
        return tuple(given), {}
    named = {n: v for n, v in zip(op.params, given, strict=False) if n in names and v is not _default(op, n)}
    kept = [v for n, v in zip(op.params, given, strict=False) if n not in names]
    return tuple(kept), named


def _default(op: Any, name: str) -> Any:
    place = op.params.index(name) - op.required
    return op.defaults[place] if place >= 0 else ...


def unspelled(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same as the row takes them."""
    args = tuple(args if op.lists else map(_as_tuple, args))
    if op.name in FORMS:
        return FORMS[op.name].taken(*args, **kwargs), {}
    if op.name == "as_strided" and len(args) in (3, 4):
        own = storage_offset(args[0])
        offset = args[3] if len(args) == 4 else kwargs.pop("storage_offset", None)
        return (*args[:3], own if offset is None else offset, Geometry.of(args[0]._array, own)), kwargs
    if op.name in _HALVED:
        return args[:2], kwargs
    if op.name in _INDEXED:
        return (args[0], tuple([_as_part(index) for index in args[1]]), *args[2:]), kwargs
    if not kwargs:
        return args, kwargs
    if op.name == "_to_copy":
        kind = kwargs.get("dtype")
        numpy = args[0]._sig.numpy if kind is None else kind.numpy
        return (*args, numpy, kwargs.get("memory_format")), {}
    return args, {n: v for n, v in kwargs.items() if n in op.params}
