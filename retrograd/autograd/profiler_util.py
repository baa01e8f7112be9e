"""The face of ``torch.autograd.profiler_util``: re-exports only."""

from ..engine.profiling.events import EventList, FunctionEvent, FunctionEventAvg, Interval

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]
