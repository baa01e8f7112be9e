"""``TensorTable``: numbers for tensors that it does not keep alive."""

from __future__ import annotations

import gc
import threading

import numpy as np

from retrograd.inspect.recording.journal import Rows
from retrograd.inspect.recording.tensor_facts import TensorFacts
from retrograd.inspect.recording.tensor_table import TensorTable


class Thing:
    """Stands for a tensor: it can be weakly referenced."""


def table():
    """An empty table and its rows."""
    rows = Rows()
    return TensorTable(rows), rows


def test_one_number_for_one_living_tensor():
    """The same object keeps its number, another one gets its own."""
    numbers, rows = table()
    first, second = Thing(), Thing()

    assert numbers.known(first) is None
    assert [numbers.add(first, TensorFacts()), numbers.add(second, TensorFacts())] == [0, 1]
    assert (numbers.known(first), numbers.known(second), len(rows)) == (0, 1, 2)


def test_tensors_may_die():
    """A dead tensor's id that comes again is a new tensor; the row stays."""
    numbers, rows = table()
    identities = set()
    for _ in range(50):
        thing = Thing()
        identities.add(id(thing))
        assert numbers.known(thing) is None
        numbers.add(thing, TensorFacts())
        del thing
    gc.collect()

    assert len(identities) < 50  # else nothing was shown
    assert len(rows) == 50


def test_memory_is_shared():
    """Tensors over one owner's memory have one number of it, those over another's another one."""
    numbers, rows = table()
    base, view, other = Thing(), Thing(), Thing()
    for tensor, owner in ((base, base), (view, base), (other, other)):
        numbers.add(tensor, TensorFacts(), memory=owner)

    assert [row.storage for row in rows.values()] == [0, 0, 1]
    assert (numbers.memory(base), numbers.memory(view)) == (0, None)


def test_memory_is_told_by_who_owns_it():
    """Tensors over one array are one memory as long as the array lives, also when no tensor does; then its id may
    come again."""
    numbers, rows = table()
    owner = np.zeros(3)
    for _ in range(2):
        thing = Thing()
        numbers.add(thing, TensorFacts(), memory=owner)
        del thing
    assert numbers.memory(owner) == 0
    identities = set()
    for _ in range(50):
        owner = set()  # of another size than references, which would take its place
        identities.add(id(owner))
        assert numbers.memory(owner) is None
        numbers.add(Thing(), TensorFacts(), memory=owner)

    assert len(identities) < 50  # else nothing was shown
    assert [row.storage for row in rows.values()] == [0, 0, *range(1, 51)]


def test_the_dead_are_forgotten():
    """A long program's table does not grow with tensors that are gone, and no living one is lost."""
    numbers, rows = table()
    things = [Thing() for _ in range(5000)]
    for thing in things:
        numbers.add(thing, TensorFacts(), memory=thing)
    living = things[::100]
    del things, thing
    for _ in range(20):
        more = [Thing() for _ in range(1000)]
        for thing in more:
            numbers.add(thing, TensorFacts(), memory=thing)

    assert len(numbers._known) < 15_000
    assert [numbers.known(thing) for thing in living] == list(range(0, 5000, 100))
    assert len(rows) == 25_000


def test_names():
    """A parameter's name is not overwritten by a variable's."""
    numbers, rows = table()
    thing = Thing()
    numbers.add(thing, TensorFacts(name="p"))
    numbers.name(thing, "layers.0.weight", parameter=True)
    numbers.name(thing, "p")
    numbers.name(Thing(), "unknown")

    assert (rows[0].name, rows[0].parameter) == ("layers.0.weight", True)


def test_threads_get_different_numbers():
    """Threads that add at the same time never share a row."""
    numbers, rows = table()
    things = [Thing() for _ in range(4000)]
    threads = [
        threading.Thread(target=lambda part=part: [numbers.add(thing, TensorFacts()) for thing in part])
        for part in np.array_split(np.array(things, dtype=object), 4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(numbers.known(thing) for thing in things) == list(range(4000))
    assert len(rows) == 4000


def test_closed():
    """A closed table knows no tensor and keeps its rows."""
    numbers, rows = table()
    thing = Thing()
    numbers.add(thing, TensorFacts(), memory=thing)
    numbers.close()

    assert len(rows) == 1
    assert (numbers.known(thing), numbers.memory(thing)) == (None, None)
