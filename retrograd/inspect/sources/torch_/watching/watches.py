"""``Watch``: one recorded stretch of the program; several may overlap."""

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
    """What all watches share, and the next ones find again."""

    def __init__(self) -> None:
        self.hooked, self.latest, self.repeats, self.memory = Hooked(), Latest(), Repeats(), Memory()

    def forget(self) -> None:
        """Nobody watches any more: let go of what belongs to the program."""
        self.hooked.numbers.clear()
        self.repeats.loosen()
        self.memory.forget()


class Watch:
    """One recording under way: where it wants its events, and of which thread (None for all)."""

    def __init__(self, sink: Sink, source: Source, thread: int | None, level: str, lasting: Lasting) -> None:
        self.sink = sink
        self.source = source
        self.thread = thread
        self.level = level
        self.forward: ForwardWriter | None = None
        """Who listens to calls, at level ``full``."""
        self.hooked, self.latest, self.repeats = lasting.hooked, lasting.latest, lasting.repeats
        self.memory = lasting.memory
        self.strays = StrayAttributes(sink)
        self._missed: set[str] = set()

    def miss(self, sentences: Iterable[str], *, again: bool = False) -> None:
        """Say in the recording what is missing there; what was said is counted, if it happened ``again``."""
        for sentence in sentences:
            if again or sentence not in self._missed:
                self._missed.add(sentence)
                try:
                    self.sink.missed(PROBLEMS, sentence)
                except Exception as failure:  # a broken sink must not break the program
                    reraise_from_handler(failure)

    def number(self, tensor: Any, line: SourceLine | None = None, name: str = "") -> int:
        """Return the number of a tensor; one that is new comes up at this line, under this name."""
        return number_of(self.sink.tensors, tensor, name, source=line)

    def numbers(self, tensors: Sequence[Any], line: SourceLine | None = None) -> list[int]:
        """Return the numbers of several tensors, of which most are known."""
        return numbers_of(self.sink.tensors, tensors, source=line)

    def sees(self, thread: int) -> bool:
        """Whether it wants to know of this thread."""
        return self.thread is None or self.thread == thread


class Watches(list[Watch]):
    """All watches of this process, oldest first; the questions are about the thread that asks."""

    def any_sees(self) -> bool:
        """Whether the thread is watched."""
        me = threading.get_ident()
        return any(watch.sees(me) for watch in self)

    def seeing(self) -> list[Watch]:
        """Return those that see the thread."""
        me = threading.get_ident()
        return [watch for watch in self if watch.sees(me)]

    def seeing_backward(self) -> list[Watch]:
        """Return those of level ``backward`` or ``full``."""
        return [watch for watch in self.seeing() if watch.level != "graph"]

    def seeing_calls(self) -> list[Watch]:
        """Return those that listen to calls just now."""
        return [watch for watch in self.seeing() if watch.forward is not None and watch.forward.listens()]
