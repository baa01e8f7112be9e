"""``torch.profiler``'s schedule: steps in cycles of waiting, warming up and measuring."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .. import observe
from ..warning import warn
from .events import EventList, Recorder


class ProfilerAction(enum.Enum):
    """What is done in one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """Whether programs can be profiled: yes."""
    return True


class ProfilerActivity(enum.Enum):
    """What is measured; there is only the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What is done in step 0, 1, …: after ``skip_first`` steps, cycles of waiting, warming up and measuring.

    ``wait``, ``warmup``, ``active`` and ``skip_first`` count steps, ``repeat`` counts cycles (0: as long as there are
    steps); with ``skip_first_wait`` the first cycle does not wait.  ``AssertionError`` for negative counts, and unless
    a step is measured.
    """
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        place = step - skip_first + (wait if skip_first_wait else 0)
        if step < skip_first or (repeat > 0 and place // length >= repeat):
            return ProfilerAction.NONE
        place %= length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")
    if not warmup:
        warn("Profiler won't be using warmup, this can skew profiler results")
    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Any:
    """An ``on_trace_ready`` that writes each cycle's trace as a JSON file into a folder."""

    def handle(measured: StepProfile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        measured.export_chrome_trace(str(folder / f"{worker_name or 'worker'}.{measured.step_num}.pt.trace.json"))

    return handle


class StepProfile:
    """Measure what runs inside; with a ``schedule`` only its active steps, counted by ``step()``.

    ``on_trace_ready(profile)`` is called whenever a cycle is over, without a schedule at the end.
    """

    def __init__(
        self, *, activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[StepProfile], Any] | None = None, record_shapes: bool = False,
        **_further: Any,
    ) -> None:  # fmt: skip
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.step_num = 0
        self._recorder: Recorder | None = None
        self._events = EventList()

    def start(self) -> None:
        """Begin with step 0."""
        self._turn(self.schedule(self.step_num))

    def stop(self) -> None:
        """End; what is being measured is kept."""
        if self._recorder is not None:
            self._finish()

    def step(self) -> None:
        """The next step begins."""
        last = self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1
        if last and self._recorder is not None:
            self._finish()
        self._turn(self.schedule(self.step_num))

    def _turn(self, action: ProfilerAction) -> None:
        if action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE) and self._recorder is None:
            self._recorder = Recorder(record_shapes=self.record_shapes)
            observe.add(self._recorder)

    def _finish(self) -> None:
        assert self._recorder is not None
        observe.remove(self._recorder)
        self._events, self._recorder = self._recorder.result(), None
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self) -> StepProfile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def events(self) -> EventList:
        """What the last cycle measured."""
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Sums by name."""
        return self._events.key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Write a trace that chrome://tracing and Perfetto open."""
        self._events.export_chrome_trace(path)
