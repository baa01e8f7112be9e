"""``TorchDispatchMode``: a context that handles every operator below autograd.

A mode receives operators that compute new tensors or views, or write to their first operand, in forward and in
backward, as well as custom operators and functions that create tensors (``creation_calls``). It may call ``func`` with
any arguments or return other tensors; what it returns is recorded for backward as the operator's own result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..core.base import TensorBase, wrap
from ..switches import state, watchers
from ..switches.modes import no_grad
from ..switches.state import STATE, enter_mode, leave_mode
from . import aten, creation_calls
from .dispatch_classes import dispatches
from .overrides import with_elements
from .spelling import spelled, unspelled

Compute = Callable[[Any, tuple[Any, ...]], Any]
Write = Callable[[Any, tuple[Any, ...]], None]


class _Call:
    """One operator call about which a mode is being asked, and what ``func`` computed for it."""

    def __init__(self, op: Any, func: Any, compute: Compute) -> None:
        self.op, self.func, self.compute = op, func, compute
        self.one = op.outputs == 1 and not op.aux
        """Whether the result is a tensor, no tuple (which may have one entry only)."""
        self.computed: list[tuple[tuple[Any, ...], Any]] = []

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """What ``func(*args)`` is meanwhile: modes further out are asked, or it computes."""
        args, kwargs = unspelled(self.op, args, kwargs)
        if watchers.DISPATCHING and any(dispatches(v) for v in with_elements(args)):
            return aten.with_aux(self.op, args, kwargs) if self.op.aux else self.op.call(*args, **kwargs)
        bound = self.op.bind(args, kwargs)
        values = beneath(self.op, bound, self.compute)
        outputs = tuple([wrap(a) for a in _all_of(self.op, values)])
        self.computed.append((outputs, values))
        return outputs[0] if self.one else outputs

    def values(self, result: Any) -> Any:
        """The arrays for what the mode returned, with what the row's rules need besides."""
        outputs = (result,) if self.one else tuple(result)
        for t in outputs:
            if not isinstance(t, TensorBase):
                raise TypeError(f"__torch_dispatch__ of {self.op.name} must return tensors, but got {type(t).__name__}")
        for made, values in self.computed:
            if all(t is m for t, m in zip(outputs, made, strict=True)):
                return values
        values = tuple([t if dispatches(t) else t._array for t in outputs])
        return values[0] if self.one else values


def _all_of(op: Any, values: Any) -> tuple[Any, ...]:
    """Results, and what is computed besides."""
    return (values,) if op.outputs == 1 and not op.aux else tuple(values)


class _Write:
    """The same for an operator that writes to its first operand, and returns that."""

    def __init__(self, op: Any, func: Any, write: Write) -> None:
        self.op, self.func, self.write = op, func, write

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """What ``func(*args)`` is meanwhile: modes further out are asked, or it writes."""
        args, kwargs = unspelled(self.op, args, kwargs)
        if watchers.DISPATCHING and any(dispatches(v) for v in with_elements(args)):
            return getattr(args[0], self.func.opname)(*args[1:], **kwargs)
        bound = self.op.bind(args, kwargs)
        write_beneath(self.op, bound, self.write)
        return bound[0]


class _Calls(threading.local):
    def __init__(self) -> None:
        self.open: list[_Call | _Write] = []


_CALLS = _Calls()


def _meanwhile(func: aten.RowOverload) -> Callable[..., Any] | None:
    """What a call of the operator is that a mode is asked about: its computation; None for any other."""
    if _CALLS.open and _CALLS.open[-1].func is func:
        return _CALLS.open[-1].run
    return None


aten.interceptor = _meanwhile


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """Within this block the innermost mode, which it gives, is not asked."""
    mode = STATE.dispatch_modes.pop()
    try:
        yield mode
    finally:
        STATE.dispatch_modes.append(mode)


def beneath(op: Any, args: tuple[Any, ...], compute: Compute) -> Any:
    """Compute, or ask the innermost mode, beneath which nothing records."""
    if not STATE.dispatch_modes:
        return compute(op, args)
    with _pop_mode_temporarily() as mode, no_grad():
        return mode._intercept(op, args, compute)


def write_beneath(op: Any, args: tuple[Any, ...], write: Write) -> None:
    """Write to the first operand, or ask the innermost mode about it."""
    if not STATE.dispatch_modes:
        write(op, args)
        return
    with _pop_mode_temporarily() as mode, no_grad():
        mode._intercept_write(op, args, write)


def asked(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The innermost mode's result for a call without a row: of a custom operator, or one that makes a tensor."""
    with _pop_mode_temporarily() as mode, no_grad():
        return mode._intercept_call(func, args, kwargs)


class Interceptor:
    """A context in which ``_intercept`` is called in place of the computation of operators."""

    def _intercept(self, op: Any, args: tuple[Any, ...], compute: Compute) -> Any:
        """The arrays that ``compute(op, args)`` would give."""
        raise NotImplementedError

    def _intercept_write(self, op: Any, args: tuple[Any, ...], write: Write) -> None:
        """Do ``write(op, args)``, which writes to the first of them."""
        write(op, args)

    def _intercept_call(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], types: tuple[type, ...] = ()
    ) -> Any:
        """``func(*args, **kwargs)``; ``types`` are the classes among the operands that are to be asked as well."""
        return func(*args, **kwargs)

    def _made(self, results: list[Any]) -> None:
        """The operator's results as tensors."""

    def __enter__(self) -> Any:
        STATE.dispatch_modes.append(self)
        state.DISPATCH_MODES += 1
        enter_mode()
        return self

    def __exit__(self, *exc: object) -> None:
        STATE.dispatch_modes.pop()
        state.DISPATCH_MODES -= 1
        leave_mode()


class TorchDispatchMode(Interceptor):
    """Base of modes: write ``__torch_dispatch__(self, func, types, args=(), kwargs=None)`` and enter an instance."""

    __module__ = "retrograd.utils._python_dispatch"

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """To be written by subclasses; ``func(*args, **kwargs)`` computes."""
        raise NotImplementedError

    def _intercept(self, op: Any, args: tuple[Any, ...], compute: Compute) -> Any:
        func = aten.overload_of(op, args)
        call = _Call(op, func, compute)
        return call.values(self._asked(call, func, args))

    def __enter__(self) -> Any:
        creation_calls.install(asked)
        return super().__enter__()

    def _intercept_call(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], types: tuple[type, ...] = ()
    ) -> Any:
        return self.__torch_dispatch__(func, types, args, kwargs)

    def _intercept_write(self, op: Any, args: tuple[Any, ...], write: Write) -> None:
        func = aten.overload_of(op, args, "_")
        self._asked(_Write(op, func, write), func, args)

    def _asked(self, call: _Call | _Write, func: Any, args: tuple[Any, ...]) -> Any:
        """What the mode returns for a call."""
        _CALLS.open.append(call)
        try:
            return self.__torch_dispatch__(func, (), *spelled(call.op, args))
        finally:
            _CALLS.open.pop()


def _get_current_dispatch_mode() -> Any:
    """The innermost mode of this thread, or ``None``."""
    return STATE.dispatch_modes[-1] if STATE.dispatch_modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes of this thread, outermost first."""
    return list(STATE.dispatch_modes)


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Within this block no mode is asked; gives those that would be."""
    before, STATE.dispatch_modes = STATE.dispatch_modes, []
    try:
        yield before
    finally:
        STATE.dispatch_modes = before
