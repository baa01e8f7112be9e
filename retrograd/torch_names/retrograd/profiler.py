"""``torch.profiler``: re-exports, and what can be observed here."""

from .engine.profiling.profile import record_function
from .engine.profiling.steps import ProfilerAction, ProfilerActivity, schedule, tensorboard_trace_handler
from .engine.profiling.steps import StepProfile as profile

__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "tensorboard_trace_handler",
]  # fmt: skip


def supported_activities() -> set[ProfilerActivity]:
    """What can be measured here."""
    return {ProfilerActivity.CPU}
