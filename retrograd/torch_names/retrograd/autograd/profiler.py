"""``torch.autograd.profiler``: re-exports only."""

from ..engine.devices.absent import EmitMarks as emit_itt
from ..engine.devices.absent import EmitMarks as emit_nvtx
from ..engine.profiling.events import EventList, FunctionEvent, FunctionEventAvg, Interval
from ..engine.profiling.profile import profile, record_function

__all__ = [
    "EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "emit_itt", "emit_nvtx", "profile", "record_function",
]  # fmt: skip
