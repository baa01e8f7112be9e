"""Wrappers of public functions: torch's alternative argument names, ``out=``, and the message of a failed call."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..core.argument_checks import refuse_pinned
from ..core.base import TensorBase
from ..core.devices import check_present, is_meta
from .out_argument import USUAL, Out, OutDtype, write_out
from .overload_choice import KindCheck, misfit, numbers_for_tensors, out_dtype, takes_out


def _with_memory(name: str, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Replaced once there are tensors without memory."""
    return f(*args, **kwargs)


without_memory: Callable[..., Any] = _with_memory
"""Calls a function that makes tensors on ``device='meta'`` (``meta.creation`` sets it)."""
NO_NAMES: Mapping[str, str] = {}
_ALIASES = {"axis": "dim", "keepdims": "keepdim", "x2": "other", "axis0": "dim0", "axis1": "dim1"}
_FIRST = ("input", "x", "a", "x1")
"""The names that torch, like NumPy, accepts for a first argument."""


def renamed(kwargs: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Keyword arguments under a function's own names: torch also takes ``input``, and NumPy's ``axis`` and so on."""
    kwargs = dict(kwargs)
    for alias, name in _ALIASES.items():
        if alias in kwargs and alias not in names and name in names:
            kwargs[name] = kwargs.pop(alias)
    for alias in _FIRST:
        if alias in kwargs and alias not in names and names and names[0] not in kwargs:
            kwargs[names[0]] = kwargs.pop(alias)
    for factor in ("alpha", "beta"):
        if isinstance(kwargs.get(factor), TensorBase):
            kwargs[factor] = kwargs[factor].item()
    return kwargs


Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments."""


class _Published(KindCheck):
    """One published function, and facts about its arguments.

    What users call is a closure with this as its only cell: one for each thing that calls ask for would be 5,000
    objects more for the garbage collector.  (A class with ``__call__`` would be less still, but is not a method.)
    """

    __slots__ = ("also", "f", "first", "makes", "names", "out", "rest", "special")

    def __init__(
        self, f: Callable[..., Any], name: str, out: Out | bool, also: Mapping[str, str], *, spread: bool
    ) -> None:
        super().__init__(name, spread=spread)
        self.f, self.also = f, also
        self.out: Out | None = (USUAL if out else None) if isinstance(out, bool) else out
        self.names, self.rest = _parameters(f)
        self.first = _first_by_place(f)
        self.special = _special(self.rest, *also)
        self.makes = name != "to"

    def respelled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """A call's arguments under the function's own names; the list ``rest`` is spread out."""
        named = {self.also.get(key, key): value for key, value in kwargs.items() if key != "pin_memory"}
        if kwargs.get("pin_memory"):
            refuse_pinned(self.name, kwargs["pin_memory"])
        if named.get("device") is not None:
            check_present(named["device"])
        if self.rest in named:
            first = (named.pop(self.first),) if self.first in named else ()
            args = (*first, *args, named.pop(self.rest))
        return args, named


_PUBLISHED: dict[Any, _Published] = {}
"""Result of ``called`` -> the original, for functions that are published under several names."""


@functools.cache
def _special(*names: str) -> frozenset[str]:
    """Names of arguments that a function transforms; one shared set for equal ones."""
    return frozenset({*names, "pin_memory", "device"} - {""})


def is_variadic(f: Callable[..., Any]) -> bool:
    """Whether a function takes any number of arguments."""
    return bool(_parameters(f)[1])


def called(
    f: Callable[..., Any], name: str, out: Out | bool, also: Mapping[str, str], *, spread: bool = False
) -> Callable[..., Any]:
    """A hand-written function as users call it: with ``out=``, and with torch's message for wrong arguments.

    ``out``: whether it takes one, or how.  ``spread``: several sizes may be passed in place of one list of them.
    """
    if f in _PUBLISHED:
        other = _PUBLISHED[f]
        f, out, also = other.f, other.out or False, other.also
    known = _Published(f, name, out, also, spread=spread)
    made = _without_out(known) if known.out is None else _with_out(known, known.out)
    _PUBLISHED[made] = known
    return made


def _without_out(known: _Published) -> Callable[..., Any]:
    """The function as users call it, where it takes no ``out=``."""

    @functools.wraps(known.f)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or tuple(map(type, args)) not in known.fitting:
            known.check(args, kwargs)
        try:
            if kwargs and not known.special.isdisjoint(kwargs):
                args, kwargs = known.respelled(args, kwargs)
                if known.makes and is_meta(kwargs.get("device")):
                    return without_memory(known.name, known.f, args, kwargs)
            return known.f(*args, **kwargs)
        except Exception:
            return _retried(known.f, known.name, args, kwargs)

    return call


def _with_out(known: _Published, how: Out) -> Callable[..., Any]:
    """The same where it takes one."""

    @functools.wraps(known.f)
    def call_with_out(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        given, named = args, kwargs
        known.check(args, kwargs if out is None else {**kwargs, "out": out})
        try:
            if kwargs:
                given, named = known.respelled(args, renamed(kwargs, known.names))
            if out is None:
                if known.makes and is_meta(named.get("device")):
                    return without_memory(known.name, known.f, given, named)
                return known.f(*given, **named)
            check_out(known.name)
            dtype = OutDtype.EXACT if how.exact else out_dtype(known.name, args, kwargs)
            return write_out(known.f, out, given, named, dtype=dtype, how=how)
        except Exception:
            return _retried(functools.partial(call_with_out, out=out), known.name, args, kwargs)

    return call_with_out


def _retried(f: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """While a failed call's error is handled: the call with numbers in place of one-element tensors.

    Where the function cannot do with numbers (``nll_loss`` of a 0-d target), it was not they that failed.
    """
    args, kwargs = with_numbers(name, args, kwargs)
    try:
        return f(*args, **kwargs)
    except (TypeError, AttributeError):
        pass
    except Exception as error:
        raise error from None
    raise  # noqa: PLE0704 - the caller handles the error


def _parameters(f: Callable[..., Any]) -> tuple[tuple[str, ...], str]:
    """The names of a function's arguments, and of the one that takes the rest: ``x.permute(dims=(1, 0))``."""
    code: Any = getattr(inspect.unwrap(f), "__code__", None)
    if code is None:
        return (), ""
    count = code.co_argcount + code.co_kwonlyargcount
    return code.co_varnames[:count], code.co_varnames[count] if code.co_flags & inspect.CO_VARARGS else ""


def _first_by_place(f: Callable[..., Any]) -> str:
    """The name of a function's first argument, unless it is taken by name only."""
    code: Any = getattr(inspect.unwrap(f), "__code__", None)
    return code.co_varnames[0] if code is not None and code.co_argcount else ""


def with_numbers(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """While a failed call's error is handled: its arguments with numbers in place of one-element tensors.

    torch takes a tensor of one element where it wants a number.  Where there is none, the error goes on, or torch's
    for an argument of the wrong kind is raised.
    """
    wrong = misfit(name, args, kwargs)
    if wrong is not None:
        raise wrong from None
    error = sys.exception()
    if isinstance(error, np.linalg.LinAlgError):  # a ValueError; PyTorch's is a RuntimeError
        raise RuntimeError(f"{name}: {error}") from None
    numbers = numbers_for_tensors(name, args, kwargs)
    if numbers is None:
        raise  # noqa: PLE0704 - the caller handles the error
    return numbers


def check_out(name: str) -> None:
    """``TypeError`` for ``out=`` where torch's function has none."""
    if not takes_out(name):
        raise TypeError(f"{name}() got an unexpected keyword argument 'out'")
