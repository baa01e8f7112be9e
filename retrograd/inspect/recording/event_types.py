"""Checks the data of events read from a file against the types that ``event_data`` declares for their kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from ..graphs.columns import LARGEST, all_fit
from .event_data import DATA_OF_KIND

Check = Callable[[Any], bool]
"""Whether a JSON value has a type."""

_PLAIN: dict[Any, frozenset[type]] = {
    int: frozenset({int}),
    float: frozenset({float, int}),
    str: frozenset({str}),
    bool: frozenset({bool}),
}
"""Declared type -> its types in JSON, where integers need no decimal point."""


def data_checked(kind: str, data: dict[str, Any]) -> None:
    """Raise ``TypeError`` where a value in an event's data does not have the type declared for its kind.

    Keys and kinds that are not declared are ignored: a later version may have written them.

    >>> data_checked("accumulate", {"tensor": 3, "before": "none"})
    >>> data_checked("accumulate", {"before": 7})
    Traceback (most recent call last):
        ...
    TypeError: before of an event 'accumulate' is 7
    """
    checks = _checks_of_kind(kind)
    for key, value in data.items():
        check = checks.get(key)
        if check is not None and not check(value):
            raise TypeError(f"{key} of an event {kind!r} is {str(value)[:40]!s}")


@cache
def _checks_of_kind(kind: str) -> dict[str, Check]:
    declared = DATA_OF_KIND.get(kind)
    return {} if declared is None else _checks_of_keys(declared)


@cache
def _checks_of_keys(declared: Any) -> dict[str, Check]:
    """Return a check for each key of a ``TypedDict``."""
    return {key: _check_of(hint) for key, hint in get_type_hints(declared, include_extras=True).items()}


def _check_of(hint: Any) -> Check:
    """Return the check for one declared type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is object:
        return lambda value: True
    if hint is None or hint is type(None):
        return lambda value: value is None
    if hint in _PLAIN:
        allowed = _PLAIN[hint]
        if int not in allowed:
            return lambda value: type(value) in allowed
        return lambda value: type(value) in allowed and (type(value) is not int or -LARGEST <= value <= LARGEST)
    if origin is Annotated:
        entries, count = _check_of(arguments[0]), arguments[1]
        return lambda value: entries(value) and len(value) == count
    if is_typeddict(hint):
        return _has_keys(_checks_of_keys(hint))
    if origin in (UnionType, Union):
        return _either(*map(_check_of, arguments))
    if origin is list and arguments[0] in _PLAIN:
        allowed = _PLAIN[arguments[0]]
        if int not in allowed:
            return lambda value: type(value) is list and allowed.issuperset(map(type, value))
        return lambda value: type(value) is list and allowed.issuperset(map(type, value)) and _fit(value)
    if origin is list:
        entry = _check_of(arguments[0])
        return lambda value: type(value) is list and all(map(entry, value))
    if origin is dict:
        entry = _check_of(arguments[1])
        return lambda value: type(value) is dict and all(map(entry, value.values()))
    raise TypeError(f"no check is known for the declared type {hint}")


def _fit(numbers: list[float]) -> bool:
    """Like ``all_fit``, for numbers only, nearly all of which lie between these bounds."""
    return not numbers or (-LARGEST <= min(numbers) and max(numbers) <= LARGEST) or all_fit(numbers)


def _either(first: Check, *others: Check) -> Check:
    """Return a check that accepts what one of these checks accepts."""
    if not others:
        return first
    rest = _either(*others)
    return lambda value: first(value) or rest(value)


def _has_keys(checks: dict[str, Check]) -> Check:
    """Return a check for an object whose declared keys have their types."""
    return lambda value: (
        type(value) is dict and all(checks[key](entry) for key, entry in value.items() if key in checks)
    )
