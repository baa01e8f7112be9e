"""Several threads at once: none sees what another has half done, nor does a child that is forked meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd import locks
from retrograd.engine import observe
from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.process.recorder import Recorder, recording
from retrograd.inspect.program.syntax import parsed_expression
from retrograd.inspect.recording.events import Recording
from retrograd.inspect.sources.engine_.calls.call_describer import CallDescriber
from retrograd.inspect.sources.engine_.watching import Watching


def forked() -> int:
    """A child of this process, as its number there and 0 in itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 says what is proved here
        return os.fork()


def ends(work: Callable[[], bool]) -> bool:
    """Whether work comes to a good end in a child of this process, within seconds."""
    child = forked()
    if not child:
        try:
            os._exit(not work())
        finally:
            os._exit(2)
    for _ in range(500):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@contextmanager
def another_thread_has_all_locks():
    """As if a thread stood in the middle of everything that only one may do at a time.

    But for drawing: a fork waits until no thread draws (``test_random_extremes`` has that).
    """
    taken, done, free = threading.Event(), threading.Event(), rg.default_generator.lock
    in_time = []

    def hold():
        held = [lock for lock in list(locks._made) if lock is not free and lock.acquire(blocking=False)]
        taken.set()
        in_time.append(done.wait(10))
        for lock in held:
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(10)
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert in_time == [True], "the locks were open again before the block ended"


def steps() -> bool:
    """Whether a step on each path of the engine gives what it should."""
    w = rg.ones(3, requires_grad=True)
    with rg.no_grad():
        half = w * 0.5
    handle = w.register_hook(lambda g: g * 2)
    (w * w + half).sum().backward()
    handle.remove()
    (w.view(3)[1:] ** 2).sum().backward()
    return w.grad is not None and w.grad.tolist() == [4.0, 6.0, 6.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_computes_as_its_parent():
    """E-21: forked while another thread computes."""
    assert steps()
    with another_thread_has_all_locks():
        assert ends(steps)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_of_a_recorded_program_computes_as_its_parent():
    """E-21: forked while a thread of a recorded program computes, and may parse a line of its source."""
    with recording(level="full") as recorded:
        assert steps()
        with another_thread_has_all_locks():
            assert ends(lambda: steps() and parsed_expression("x + 1") is not None)
        assert steps()
    assert len([event for event in recorded.events if event.kind == "backward-end"]) == 4


def stepping_aside(record: Recording) -> bool:
    """Whether a step gives what it should, and the recording does not grow."""
    before = len(record.events)
    return steps() and len(record.events) == before and not observe.observers


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_is_not_recorded():
    """E-21: nobody would read what its own memory holds; its parent and what it records itself go on as before."""

    def records_itself() -> bool:
        with recording(level="full") as own:
            assert steps()
        return len([event for event in own.events if event.kind == "backward-end"]) == 2 and stepping_aside(record)

    with recording(level="full") as record, rg.debug() as inner:
        assert ends(lambda: stepping_aside(record) and stepping_aside(inner.recording))
        assert ends(records_itself)
        assert steps()
    assert len([event for event in record.events if event.kind == "backward-end"]) == 2
    assert not [event for event in record.events if event.kind == "problem"]


def refused_in_a_child(torch: Any) -> bool:
    """Whether a run, in which a hook forks, goes on in the child, and the second one fails there as it would alone."""
    w, children = torch.ones(2, requires_grad=True), []

    def fork(grad: object) -> None:
        children.append(forked())

    try:
        with recording(level="full") as record, rg.debug() as inner:
            out = (w * w).exp()
            out.register_hook(fork)
            out.sum().backward()
            events = len(record.events), len(inner.recording.events)
            if not children[0]:
                out.sum().backward()
    except RuntimeError as error:
        grown = (len(record.events), len(inner.recording.events)) != events
        os._exit(grown or hasattr(error, "__notes__") or "second time" not in str(error))
    return os.waitpid(children[0], 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("engine", ["torch", "retrograd"])
def test_a_child_forked_in_the_middle_of_backward(engine):
    """E-21: the run ends, so do the blocks around it, and an error has no notes about what only the parent recorded."""
    torch = pytest.importorskip(engine)
    assert ends(lambda: refused_in_a_child(torch))


def test_locks_go_with_their_owners():
    """A program that records again and again piles up none."""
    made = locks.lock()
    alive = weakref.ref(made)
    assert made in locks._made
    del made
    assert alive() is None


def test_an_observer_that_comes_while_others_are_told_hears_all_that_follows():
    """E-21: methods that were looked up for the observers of before are nobody's."""
    heard: list[str] = []

    class Late:
        """Hears of what is cut."""

        def cut(self, *_: object) -> None:
            """A value was taken out."""
            heard.append("cut")

    late = Late()

    class First:
        """While it is asked what it hears, another thread begins to watch."""

        def __getattr__(self, name: str) -> object:
            if name == "cut" and late not in observe.observers:
                thread = threading.Thread(target=observe.add, args=(late,))
                thread.start()
                thread.join()
            raise AttributeError(name)

    first, w = First(), rg.ones(2, requires_grad=True)
    observe.add(first)
    try:
        w.detach()
        heard.clear()
        w.detach()
        assert heard == ["cut"]
    finally:
        observe.remove(first)
        observe.remove(late)


def test_what_is_in_force_is_what_the_thread_has_set():
    """E-21: another thread that makes a call meanwhile has its own surroundings."""
    describer = CallDescriber(Watching(Recorder(level="full"), None, "full"))
    theirs = (False, False, "other", None, None)

    class Interrupted(tuple):
        """While surroundings are compared with these, another thread notes its own."""

        def __eq__(self, other: object) -> bool:
            describer._around = theirs
            return tuple(self) == other

        __hash__ = tuple.__hash__

    describer.watching.here.scopes.append("mine")
    describer._around = Interrupted((True, False, "mine", None, None))
    assert describer.around(describer.watching.here) == (True, False, "mine", None, None)
    assert describer._around == theirs


def test_what_a_thread_notes_after_the_end_is_not_in_the_recording():
    """E-21: it was about to note a call, and had numbered the result, when the recording ended and was read."""
    with recording(level="full") as recorded:
        recorder = observe.OPERATION[0].__self__.watching.sink
        w = rg.ones(2, requires_grad=True)
        (w * 2).sum().backward()
    events = len(recorded.events)
    array = np.ones(2)
    recorder.tensors.reserve(rg.ones(2), array)
    recorder.note((None,))
    assert len(recorded.events) == events
    assert None not in recorded.tensors
    assert diagnose(recorded) == []
