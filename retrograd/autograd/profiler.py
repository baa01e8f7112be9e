"""The face of ``torch.autograd.profiler``: re-exports only."""

from ..engine.profiling.events import EventList, FunctionEvent, FunctionEventAvg, Interval
from ..engine.profiling.profile import profile, record_function

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "profile", "record_function"]
