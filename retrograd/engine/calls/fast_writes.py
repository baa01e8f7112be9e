"""The fast path of in-place operators: writes a whole tensor from another one without recording anything.

Optimizer steps consist of such calls. A few tests establish that none of the checks of ``inplace`` can apply (12 µs
less); they are all in one function, since after the large arrays of a step every call misses the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import observe
from ..aliasing.versions import storage_of
from ..core.argument_checks import number_operand
from ..core.base import PLAIN_CLASSES
from ..switches import state
from ..switches.quiet import QUIET, is_entered_elsewhere, quietly, run_quietly
from ..switches.state import STATE
from ..table.op import OpDef
from .inplace import before_write

_ABSENT: Any = object()
_PLAIN = (int, float)


def has_fast_writes(op: OpDef) -> bool:
    """Whether a row can write its result into its first operand, and has no parameter but perhaps a factor."""
    return QUIET is not None and op.into is not None and op.params[op.required :] in ((), ("alpha",))


def _rare() -> bool:
    return bool(STATE.inference or state.FORWARD_LEVELS or state.DISPATCH_MODES or before_write)


def _number(sig: Any, value: Any) -> Any:
    """A Python number as operand; ``None`` for anything else."""
    known = sig.floats if value.__class__ is float else sig.ints if value.__class__ is int else None
    return None if known is None else known.get(value) or number_operand(sig, value)


def fast_write(op: OpDef, general: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place method of a row, such as ``t.sub_(other, alpha=0.1)``; ``general`` does whatever is rare."""
    into: Any = op.into
    plain: Any = PLAIN_CLASSES
    scaled = bool(op.defaults)
    unscaled = (1,) if scaled else ()

    def call(self: Any, other: Any = _ABSENT, /, *args: Any, alpha: Any = _ABSENT, **kwargs: Any) -> Any:
        if (
            args or kwargs or self.__class__ not in plain or not (sig := self._sig).quick
            # without a base, arrays share memory neither with each other nor within
            or (array := self._array).base is not None
            or (
                (operand := other)._sig is not sig or operand._array.base is not None
                if other.__class__ in plain else (operand := _number(sig, other)) is None
            )
            or ((meta := self._meta) is not None and (meta.view is not None or meta.inference))
            or ((enabled := STATE.grad_enabled) and (self._fn is not None or operand._fn is not None))
            # (halves have no numbers that are kept: what is added to them is rounded once, not times the factor before)
            or (
                alpha is not _ABSENT
                and not (scaled and alpha.__class__ in _PLAIN and operand is other and sig.floats is not None)
            )
            # nothing is on besides this thread's ``no_grad``
            or (not (alone := state.MODE == (not enabled)) and _rare())
        ):  # fmt: skip
            if alpha is not _ABSENT:
                kwargs["alpha"] = alpha
            return general(self, *args, **kwargs) if other is _ABSENT else general(self, other, *args, **kwargs)
        given = factor = unscaled if alpha is _ABSENT else (alpha,)
        if alpha.__class__ is float and sig.floats is not None:
            kept = sig.floats.get(alpha) or number_operand(sig, alpha)
            if kept is not None:
                factor = (kept._array,)
        watched = not alone and observe.observers and (observe.HEAR_UPDATES or STATE.updating is not observe.PRESENT)
        if watched:
            observe.notify("writing", op, (self, other, *given))
        try:
            run_quietly(into, array, operand._array, *factor)
        except RuntimeError as error:
            if not is_entered_elsewhere(error):  # a signal's handler may raise between two pieces
                raise
            quietly(into, (array, operand._array, *factor))
        (storage_of(self) if meta is None or meta.storage is None else meta.storage).bump()
        if watched:
            operands = [self, other] if operand is other else [self]
            observe.notify("inplace", op, (self, other, *given), None, self, operands)
        return self

    return call
