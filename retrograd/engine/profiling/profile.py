"""``profile`` and ``record_function``: contexts that measure a program's time and name parts of it."""

from __future__ import annotations

from typing import Any

from .. import observe
from ..switches.modes import ModeContext
from .events import EventList, FunctionEventAvg, Recorder


def _profiler_enabled() -> bool:
    """Whether a profiler is measuring."""
    return any(isinstance(observer, Recorder) for observer in observe.observers)


class profile:  # noqa: N801 - torch's name
    """Measure what runs inside: ``with profile() as p: ...``, then ``p.key_averages().table()``.

    ``record_shapes`` notes the shapes of inputs. The other arguments concern devices and are accepted.
    ``RuntimeError`` for an instance that is entered twice, and for one that is asked before the block has ended.

    >>> import retrograd as torch
    >>> with torch.autograd.profiler.profile() as p:
    ...     y = torch.ones(3).exp().sum()
    >>> [event.name for event in p.function_events]
    ['aten::exp', 'aten::sum']
    """

    __module__ = "retrograd.autograd.profiler"

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: Any = None, record_shapes: bool = False,
        with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
        use_kineto: bool = False, use_cpu: bool = True, **_device_settings: Any,
    ) -> None:  # fmt: skip
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.entered = False
        self.function_events: EventList | None = None
        self._recorder = Recorder(record_shapes=record_shapes)

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        observe.add(self._recorder)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            observe.remove(self._recorder)
            self.function_events = self._recorder.result()

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else repr(self.function_events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)

    @property
    def _finished(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running: ask after the with block")
        return self.function_events

    @property
    def self_cpu_time_total(self) -> float:
        """Time of everything, in microseconds."""
        return self._finished.self_cpu_time_total

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Sums by name."""
        return self._finished.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """The sum of everything."""
        return self._finished.total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **layout: Any) -> str:
        """Every event as a line of text."""
        return self._finished.table(sort_by, row_limit, **layout)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace that chrome://tracing and Perfetto open."""
        self._finished.export_chrome_trace(path)


class record_function(ModeContext):  # noqa: N801 - torch's name
    """Name a stretch of the program (also as decorator): profilers measure it, and drawings show it as a scope."""

    __module__ = "retrograd.autograd.profiler"

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self._notified: list[bool] = []

    def clone(self) -> record_function:
        """A fresh context with the same name."""
        return record_function(self.name, self.args)

    def __enter__(self) -> record_function:
        self._notified.append(bool(observe.observers))
        if observe.observers:
            observe.notify("scope_began", self.name)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._notified.pop() and observe.observers:
            observe.notify("scope_ended", self.name)
