"""Events that are only noted while the program runs are the same whenever somebody reads them."""

import copy
import gc
import pickle
import signal
import threading
import weakref

import pytest

import retrograd as rg
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.recording.journal import Journal
from retrograd.inspect.sources.engine_.calls import calls


def _step(w, x):
    h = rg.relu(x @ w)
    loss = (h * h).sum()
    loss.backward()
    return loss


def _train(look=lambda trace: None):
    """Three steps of a small net, after each of which somebody may look."""
    rg.manual_seed(0)
    w, x = rg.randn(4, 3).requires_grad_(True), rg.randn(5, 4)
    optimizer = rg.optim.SGD([w], lr=0.1)
    with rg.debug() as trace:
        for _ in range(3):
            optimizer.zero_grad()
            _step(w, x)
            optimizer.step()
            look(trace)
    return trace.recording


def _told(recording):
    """What a recording says, without times and without who called ``_train``."""
    plain = recording.to_plain()
    for event in plain["events"]:
        for key in ("time_us", "seconds", "began", "stack"):
            event.get("data", {}).pop(key, None)
    return plain["events"], plain["tensors"]


def test_looking_meanwhile_changes_nothing():
    """A recording that is read after each step ends as one that is read at the end."""
    read = _train(lambda trace: [event.data for event in trace.recording.events])
    unread = _train()

    assert _told(unread) == _told(read) == _told(unread)
    assert all(isinstance(event, Event) for event in unread.events)


def test_rows_of_results_say_who_made_them():
    """Each result has the shape, the name and the event that a look at the program gives."""
    recording = _train()

    made = [(facts.name, facts.shape) for facts in recording.tensors if facts.made_by is not None]
    assert made[:3] == [("", (5, 3)), ("h", (5, 3)), ("", (5, 3))]
    for number, facts in enumerate(recording.tensors):
        if facts.made_by is not None:
            assert number in recording.events[facts.made_by].data["outputs"]
    assert "w.grad" in {facts.name for facts in recording.tensors}


def test_notes_hold_no_tensor():
    """What is noted and not read yet keeps neither tensors nor arrays alive."""
    with rg.debug():
        a = rg.randn(3, requires_grad=True)
        result = rg.exp(a) * 2
        watched = [weakref.ref(result), weakref.ref(result._array), weakref.ref(a)]
        del result, a
        gc.collect()
        assert [reference() for reference in watched] == [None, None, None]


def test_a_note_that_fails_is_a_problem_not_an_error(monkeypatch):
    """Should noting a call fail after its result was numbered, the program goes on and the recording can be read."""
    monkeypatch.setattr(calls.values, "range_and_sum", lambda array: 1 / 0)
    with rg.debug() as trace:
        rg.exp(rg.ones(3, requires_grad=True)).sum().backward()

    assert "problem" in {event.kind for event in trace.recording.events}
    assert trace.recording.to_plain()["tensors"]


def test_reading_inside_a_handler_of_signals():
    """A handler that reads the recording may interrupt whatever is being noted or made."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers here")
    lengths = []
    with rg.debug() as trace:
        before = signal.signal(signal.SIGALRM, lambda *_: lengths.append(len(trace.recording.events)))
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        try:
            a = rg.ones(3, requires_grad=True)
            while len(lengths) < 20:
                rg.exp(a)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    assert lengths == sorted(lengths)
    assert {type(event) for event in trace.recording.events} == {Event}


def test_threads_note_while_another_one_reads():
    """Nothing is lost or made twice."""
    from retrograd.inspect.process.recorder import recording

    def work():
        a = rg.ones(3, requires_grad=True)
        for _ in range(200):
            rg.exp(a)

    with recording(level="full") as found:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert all(isinstance(event, Event) for event in list(found.events))
        for thread in threads:
            thread.join()

    assert sum(event.op == "exp" for event in found.events) == 400
    assert all(found.tensors[number].made_by == row for row, event in enumerate(found.events)
               for number in event.data.get("outputs", ()) if event.op == "exp")  # fmt: skip


def test_recordings_are_copied_and_pickled():
    """Also one that nobody has read."""
    for made in (copy.deepcopy(_train()), pickle.loads(pickle.dumps(_train())), copy.copy(_train())):
        assert _told(made) == _told(_train())


def test_a_recording_of_its_own_has_no_journal():
    """One that was made by hand or read from a file has its lists at once."""
    assert Recording().events == []
    assert Recording().tensors == []
    with pytest.raises(AttributeError):
        Recording().nothing


def test_each_entry_is_made_once_and_in_order():
    """What makes an event gets its row and the rows of tensors; events among notes stay."""
    journal, seen = Journal(), []

    def make(note, row, rows):
        seen.append((row, note[1]))
        return Event(note[1])

    journal.entries += [(make, "a"), Event("b"), (make, "c")]
    journal.settle()
    assert [event.kind for event in journal.entries] == ["a", "b", "c"]
    journal.entries.append((make, "d"))
    journal.settle()
    journal.settle()

    assert seen == [(0, "a"), (2, "c"), (3, "d")]
