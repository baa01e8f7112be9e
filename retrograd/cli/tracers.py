"""Suspends the program's tracers, profilers and monitors while we work, and restores them unnoticed.

A profiler is notified of every call of a built-in function, but not of the call of a ``partial`` of one: therefore
nothing here is a function written in Python, which a tracer could see, nor a bare built-in function. From Python 3.12
on there are also the tools of ``sys.monitoring``; cProfile is one of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

from ..interpreter import PROFILER, getframe

get_frame, get_trace, get_profile = partial(getframe), partial(sys.gettrace), partial(sys.getprofile)
set_trace, set_profile = partial(sys.settrace), partial(sys.setprofile)

tuple_, map_, filter_ = tuple, map, filter
"""Saved now: a program may replace the built-in ones."""

in_use: Callable[[int], object]
get_events: Callable[[int], int]
set_events: Callable[[int, int], object]
if sys.version_info >= (3, 12):
    TOOLS: Iterable[int] = range(6)
    in_use, get_events = partial(sys.monitoring.get_tool), partial(sys.monitoring.get_events)
    set_events = partial(sys.monitoring.set_events)
else:
    TOOLS = ()
    in_use, get_events, set_events = partial(bool), partial(int), partial(pow)  # none is called: there are no tools
NOTHING = repeat(0)
"""Empty event sets, for tools that are to receive none."""


class Tracers(NamedTuple):
    """The program's tracers, profilers and monitors."""

    trace: Any = None
    """What ``sys.gettrace`` returned."""
    profile: Any = None
    """What ``sys.getprofile`` returned."""
    tools: tuple[int, ...] = ()
    """Tools of ``sys.monitoring`` that were in use."""
    events: tuple[int, ...] = ()
    """The events that each of them asked for."""


NONE = Tracers()


def giving_back(tracers: Tracers) -> list[Callable[[], object]]:
    """Return functions that restore the tracer, the profiler and the tools, to be called in this order.

    Those written in C need not be callable, and only they could put themselves back: cProfile's can (it is seen here
    before Python 3.12 only), any other stays off.
    """
    tracer, profiler = tracers.trace, tracers.profile
    trace = partial(sys.settrace, tracer if callable(tracer) else None)
    profile = partial(sys.setprofile, profiler if callable(profiler) else None)
    if PROFILER is not None and isinstance(profiler, PROFILER):
        profile = partial(PROFILER.enable, profiler)
    return [trace, profile, partial(tuple_, map_(set_events, tracers.tools, tracers.events))]
