"""What a program left to trace or profile calls, taken off and given back without its noticing.

A profiler is told of every call of a built-in function, but not of the call of a ``partial`` of one: therefore
nothing here is a function written in Python that a program's tracer could see, nor a bare built-in function.
"""

from __future__ import annotations

import _lsprof
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

Tracers = tuple[Any, Any]
"""What ``sys.gettrace`` and ``sys.getprofile`` returned."""

get_trace, get_profile = partial(sys.gettrace), partial(sys.getprofile)
set_trace, set_profile = partial(sys.settrace), partial(sys.setprofile)


def giving_back(tracers: Tracers) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return what puts the tracer and the profiler back, to be called later in this order.

    Those written in C need not be callable, and only they could put themselves back: cProfile's can (it is seen here
    before Python 3.12 only), any other stays off.
    """
    tracer, profiler = tracers
    trace = partial(sys.settrace, tracer if callable(tracer) else None)
    if isinstance(profiler, _lsprof.Profiler):
        return trace, partial(_lsprof.Profiler.enable, profiler)
    return trace, partial(sys.setprofile, profiler if callable(profiler) else None)
