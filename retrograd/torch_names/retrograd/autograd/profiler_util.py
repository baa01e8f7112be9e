"""``torch.autograd.profiler_util``: re-exports only."""

from ..engine.profiling.events import EventList, FunctionEvent, FunctionEventAvg, Interval
from ..engine.profiling.events import duration as _format_time

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "_format_time"]
