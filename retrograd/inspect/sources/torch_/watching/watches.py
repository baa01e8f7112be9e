"""``Watch``: one recording in progress; several may overlap."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

from ....program.places import SourceLine
from ....program.signals import reraise_from_handler
from ....recording.unseen import PROBLEMS
from ...base import Sink, Source
from ...stray_attributes import StrayAttributes
from ..backward.repeats import Repeats
from ..calls.forward import ForwardWriter
from ..calls.tensors import number_of, numbers_of
from ..objects.hooks import Hooked
from ..values.figures import Memory
from ..values.layout import Latest


class Lasting:
    """What all watches share, including later ones."""

    def __init__(self) -> None:
        self.hooked, self.latest, self.repeats, self.memory = Hooked(), Latest(), Repeats(), Memory()

    def forget(self) -> None:
        """Drop what belongs to the program, after the last watch."""
        self.hooked.numbers.clear()
        self.repeats.loosen()
        self.memory.forget()


class Watch:
    """One recording in progress: its sink, and the watched thread (None for all)."""

    def __init__(self, sink: Sink, source: Source, thread: int | None, level: str, lasting: Lasting) -> None:
        self.sink = sink
        self.source = source
        self.thread = thread
        self.level = level
        self.forward: ForwardWriter | None = None
        """The listener for calls, at level ``full``."""
        self.hooked, self.latest, self.repeats = lasting.hooked, lasting.latest, lasting.repeats
        self.memory = lasting.memory
        self.strays = StrayAttributes(sink)
        self._missed: set[str] = set()

    def miss(self, sentences: Iterable[str], *, again: bool = False) -> None:
        """Note in the recording what is missing there; repeated sentences are counted if it happened ``again``."""
        for sentence in sentences:
            if again or sentence not in self._missed:
                self._missed.add(sentence)
                try:
                    self.sink.missed(PROBLEMS, sentence)
                except Exception as failure:  # a broken sink must not break the program
                    reraise_from_handler(failure)

    def number(self, tensor: Any, line: SourceLine | None = None, name: str = "") -> int:
        """Return the number of a tensor; a new one gets this line and name."""
        return number_of(self.sink.tensors, tensor, name, source=line)

    def numbers(self, tensors: Sequence[Any], line: SourceLine | None = None) -> list[int]:
        """Return the numbers of several tensors, most of which are known."""
        return numbers_of(self.sink.tensors, tensors, source=line)

    def sees(self, thread: int) -> bool:
        """Whether it watches this thread."""
        return self.thread is None or self.thread == thread


class Watches(list[Watch]):
    """All watches of this process, oldest first; methods are about the calling thread."""

    def any_sees(self) -> bool:
        """Whether the thread is watched."""
        me = threading.get_ident()
        return any(watch.sees(me) for watch in self)

    def seeing(self) -> list[Watch]:
        """Return those that watch the thread."""
        me = threading.get_ident()
        return [watch for watch in self if watch.sees(me)]

    def seeing_backward(self) -> list[Watch]:
        """Return those of level ``backward`` or ``full``."""
        return [watch for watch in self.seeing() if watch.level != "graph"]

    def seeing_calls(self) -> list[Watch]:
        """Return those that listen to calls at the moment."""
        return [watch for watch in self.seeing() if watch.forward is not None and watch.forward.listens()]
