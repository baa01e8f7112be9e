"""``TorchDispatchMode``: a context that is asked about every operator beneath autograd.

Asked are the operator rows that compute new tensors or views, in forward and in backward; in-place writes and the
creation of tensors are not.  A mode that is asked may call ``func`` with any arguments or return other tensors;
what it returns is recorded for backward as the operator's own result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..switches import state
from ..switches.modes import no_grad
from ..switches.state import STATE, enter_mode, leave_mode
from ..tensors.base import TensorBase, wrap
from . import aten

Compute = Callable[[Any, tuple[Any, ...]], Any]


class _Call:
    """One operator call about which a mode is being asked, and what ``func`` computed for it."""

    def __init__(self, op: Any, compute: Compute) -> None:
        self.op, self.compute = op, compute
        self.computed: list[tuple[tuple[Any, ...], Any]] = []

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """What ``func(*args)`` is meanwhile: modes further out are asked, or it computes."""
        bound = self.op.bind(args, kwargs)
        values = beneath(self.op, bound, self.compute)
        outputs = tuple(wrap(a) for a in _outputs(self.op, values))
        self.computed.append((outputs, values))
        return outputs[0] if self.op.outputs == 1 else outputs

    def values(self, result: Any, args: tuple[Any, ...]) -> Any:
        """The arrays for what the mode returned, with what the row's rules need besides."""
        outputs = (result,) if self.op.outputs == 1 else tuple(result)
        for t in outputs:
            if not isinstance(t, TensorBase):
                raise TypeError(f"__torch_dispatch__ of {self.op.name} must return tensors, but got {type(t).__name__}")
        for made, values in self.computed:
            if all(t is m for t, m in zip(outputs, made, strict=True)):
                return values
        arrays = tuple(t._array for t in outputs)
        if self.op.aux:
            values = self.computed[-1][1] if self.computed else self.compute(self.op, args)
            return (*arrays, *values[len(arrays) :])
        return arrays[0] if self.op.outputs == 1 else arrays


def _outputs(op: Any, values: Any) -> tuple[Any, ...]:
    if op.aux:
        return tuple(values[: len(values) - len(op.aux)])
    return (values,) if op.outputs == 1 else tuple(values)


class _Calls(threading.local):
    def __init__(self) -> None:
        self.open: list[_Call] = []


_CALLS = _Calls()


def _meanwhile(func: aten.RowOverload) -> Callable[..., Any]:
    """What a call of an operator is: of the one that a mode is asked about, its computation."""
    if _CALLS.open and _CALLS.open[-1].op is func.row:
        return _CALLS.open[-1].run
    called: Callable[..., Any] = func.row.call
    return called


aten.interceptor = _meanwhile


def beneath(op: Any, args: tuple[Any, ...], compute: Compute) -> Any:
    """Compute, or ask the innermost mode, which is off meanwhile, as is recording."""
    if not STATE.dispatch_modes:
        return compute(op, args)
    mode = STATE.dispatch_modes.pop()
    try:
        with no_grad():
            return mode._intercept(op, args, compute)
    finally:
        STATE.dispatch_modes.append(mode)


class Interceptor:
    """A context within which ``_intercept`` stands between operators and their computation."""

    def _intercept(self, op: Any, args: tuple[Any, ...], compute: Compute) -> Any:
        """The arrays that ``compute(op, args)`` would give."""
        raise NotImplementedError

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

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """To be written by subclasses; ``func(*args, **kwargs)`` computes."""
        raise NotImplementedError

    def _intercept(self, op: Any, args: tuple[Any, ...], compute: Compute) -> Any:
        call = _Call(op, compute)
        _CALLS.open.append(call)
        try:
            result = self.__torch_dispatch__(aten.overload_of(op, args), (), shown(op, args), {})
        finally:
            _CALLS.open.pop()
        return call.values(result, args)


def shown(op: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments without those at the end that are as if not given."""
    given = list(args)
    while len(given) > op.required and given[-1] is op.defaults[len(given) - op.required - 1]:
        given.pop()
    return tuple(given)
