"""What a signal's handler raises while we watch reaches the program, wherever in our code the signal arrives."""

from __future__ import annotations

import functools
import signal
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

import retrograd as rg
from retrograd.cli.uncaught import strip_our_frames
from retrograd.engine import observe
from retrograd.engine.execution import sweep
from retrograd.engine.switches import watchers
from retrograd.inspect.process.recorder import recording
from retrograd.inspect.program.signals import is_from_handler
from retrograd.inspect.sources import array_values


class LateError(Exception):
    """What the handler raises."""


def ring(*_given: object, **_options: object) -> None:
    """Stand in for a function of ours that a signal interrupts."""
    signal.raise_signal(signal.SIGALRM)


@pytest.fixture
def handled() -> Iterator[None]:
    """A handler that raises is in place."""

    def handler(_number: int, _frame: FrameType | None) -> None:
        raise LateError

    before = signal.signal(signal.SIGALRM, handler)
    yield
    signal.signal(signal.SIGALRM, before)


SOURCES = "retrograd.inspect.sources"
PLACES = [
    ("retrograd", "graph", f"{SOURCES}.engine_.backward.runs.source_line"),
    ("retrograd", "backward", f"{SOURCES}.engine_.backward.nodes.Measures"),
    ("retrograd", "full", f"{SOURCES}.array_values.range_and_sum"),
    ("torch", "backward", f"{SOURCES}.torch_.backward.runs.source_line"),
    ("torch", "full", f"{SOURCES}.torch_.calls.calls._is_direct"),
]


@pytest.mark.usefixtures("handled")
@pytest.mark.parametrize(("engine", "level", "place"), PLACES)
def test_the_error_of_a_handler_arrives(engine: str, level: Any, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no failure of ours that the program must not see, wherever the signal interrupts us."""
    torch = rg if engine == "retrograd" else pytest.importorskip("torch")
    w = torch.ones(3, requires_grad=True)

    with recording(level=level) as recorded:
        monkeypatch.setattr(place, ring)
        with pytest.raises(LateError) as caught:
            (w * 2).sin().sum().backward()
        monkeypatch.undo()
        (w * 2).sin().sum().backward()

    assert recorded.graphs
    assert None not in recorded.tensors
    strip_our_frames(caught.value)
    assert not [line for line in traceback.format_tb(caught.value.__traceback__) if "/retrograd/inspect/" in line]


@pytest.mark.parametrize("error", [LateError, KeyboardInterrupt])
def test_a_run_that_was_broken_off_is_no_run_around_the_next(error: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a signal keeps the end of a run from being heard of, later runs are recorded as runs of their own."""
    x = rg.ones(2, requires_grad=True)
    notify = observe.notify

    def broken_off(event: str, *given: Any) -> None:
        if event == "backward_ended":
            raise error
        notify(event, *given)

    with recording(level="full") as recorded:
        monkeypatch.setattr(observe, "notify", broken_off)
        with pytest.raises(error):
            x.exp().sum().backward()
        monkeypatch.undo()
        x.exp().sum().backward()

    assert len(recorded.graphs) == 2


@pytest.mark.usefixtures("handled")
def test_a_signal_before_the_first_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a handler raises before a run has chosen its first node is what the program gets."""
    # Tensors of earlier tests whose class is asked, if any are alive, would make the run take the way of tensors.
    monkeypatch.setattr(watchers, "LIVE", 0)
    x = rg.ones(2, requires_grad=True)
    with recording(level="full"):
        loss = x.exp().sum()
        monkeypatch.setattr(sweep, "heappop", ring)
        with pytest.raises(LateError):
            loss.backward()


def test_a_note_that_was_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the result of a call is noted ends the recording as any exception does."""

    def broken_off(*_given: Any) -> None:
        raise KeyboardInterrupt

    x = rg.ones(2, requires_grad=True)
    monkeypatch.setattr(array_values, "range_and_sum", broken_off)
    with pytest.raises(KeyboardInterrupt), recording(level="full") as recorded:
        x.exp()

    assert len(recorded.tensors) == 2
    assert None not in recorded.tensors


def caught(handle: Any) -> Exception:
    """What a handler raises, caught."""
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        signal.raise_signal(signal.SIGUSR1)
    except ZeroDivisionError as error:
        return error
    finally:
        signal.signal(signal.SIGUSR1, before)
    raise AssertionError("nothing was raised")


class Handler:
    """An object that is a handler, and has one as a method."""

    def __call__(self, *given: Any) -> None:
        self.method(*given)

    def method(self, number: int, _frame: FrameType | None) -> None:
        """Fail after a change of handlers."""
        number = signal.signal(number, signal.SIG_IGN) and 0
        1 / number


@pytest.mark.parametrize(
    "handle", [lambda *_: 1 / 0, Handler(), Handler().method, functools.partial(lambda text, *_: 1 / 0, "x")]
)
def test_handlers_of_every_kind(handle: Any) -> None:
    """Functions, methods, objects and partial calls are handlers; an error of another function is of none."""
    assert is_from_handler(caught(handle))
    with pytest.raises(ZeroDivisionError) as raised:
        Handler().method(signal.SIGUSR2, None)
    signal.signal(signal.SIGUSR2, signal.SIG_DFL)
    assert not is_from_handler(raised.value)
