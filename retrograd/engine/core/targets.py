"""Parses the arguments of ``to``: a device, a dtype or both, or another tensor, by position or by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .argument_checks import type_names
from .base import TensorBase
from .devices import check_present, device
from .dtypes import PYTHON_TYPES, dtype


class Target(NamedTuple):
    """The requested device, dtype and memory format of a tensor; ``None`` keeps each."""

    device: Any = None
    dtype: Any = None
    non_blocking: Any = False
    copy: Any = False
    memory_format: Any = None


def _by_device(
    device: Any = None, dtype: Any = None, non_blocking: Any = False, copy: Any = False, *, memory_format: Any = None
) -> Target:
    return Target(device, dtype, non_blocking, copy, memory_format)


def _by_dtype(dtype: Any, non_blocking: Any = False, copy: Any = False, *, memory_format: Any = None) -> Target:
    return Target(None, dtype, non_blocking, copy, memory_format)


def _by_tensor(tensor: Any, non_blocking: Any = False, copy: Any = False, *, memory_format: Any = None) -> Target:
    return Target(tensor.device, tensor.dtype, non_blocking, copy, memory_format)


def target_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Target:
    """The target that the arguments of ``to`` name; ``TypeError`` for those that fit none of its three forms."""
    first = args[0] if args else None
    if first.__class__ is dtype and len(args) == 1 and not kwargs:
        return Target(None, first)  # the commonest form, in half the time
    form: Callable[..., Target] = _by_dtype if _is_dtype(first) else _by_device
    if isinstance(first, TensorBase):
        form = _by_tensor
    try:
        target = form(*args, **kwargs)
    except TypeError:
        raise _refused(args, kwargs) from None
    where, kind, non_blocking, copy, _ = target
    if not (
        (where is None or _is_device(where))
        and (kind is None or _is_dtype(kind))
        and non_blocking.__class__ is bool is copy.__class__
    ):
        raise _refused(args, kwargs)
    if where is not None:
        check_present(where)
    return target._replace(dtype=PYTHON_TYPES[kind]) if isinstance(kind, type) else target


def _is_device(value: Any) -> bool:
    named = isinstance(value, (str, device))
    return named or value.__class__ is int


def _is_dtype(value: Any) -> bool:
    return isinstance(value, dtype) or (isinstance(value, type) and value in PYTHON_TYPES)


def _refused(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    got = type_names(args, kwargs)
    return TypeError(
        f"to() received an invalid combination of arguments - got ({got}), but expected a dtype, a device "
        "with or without a dtype, or another tensor; write for example to(torch.float32)"
    )
