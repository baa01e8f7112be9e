"""``recording``: watches a block of a program on all engines and fills a ``Recording``."""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

from ...errors import UsageError
from ...interpreter import LOST
from ...locks import lock
from ..finite_differences.check import check_functions
from ..graphs.graph import Graph
from ..program.failures import failure_of, relayed
from ..program.frames import last_line, strip_own_frames
from ..program.places import SourceLine
from ..program.random_functions import ELSEWHERE
from ..program.signals import reraise_from_handler
from ..program.texts import lines_of
from ..recording.event_data import LEVELS
from ..recording.events import Event, Recording
from ..recording.figure_schedule import FigureSchedule
from ..recording.journal import Journal, Maker, Note
from ..recording.kept_snapshots import KeptSnapshots
from ..recording.kept_steps import KEPT, KeptSteps
from ..recording.renumbered import Reader
from ..recording.tensor_table import TensorTable
from ..recording.unseen import PROBLEMS, Missed, missed_events, say_at_once
from ..sources import sources
from ..sources.hidden_references import references_hidden
from ..sources.kept_calls import KeptCalls
from .forks import in_this_process
from .lost_messages import lost_messages
from .started_processes import Ledger, counting_processes

MAX_EVENTS = 1_000_000
"""Events after which level ``full`` records no more forward calls, about 1.5 GB."""
_AROUND = 2
"""Source lines kept before and after a recorded one."""
_FIRST_COUNT = 6
"""Backward pass before which live tensors are first counted; then after twice as many each time."""
_MOST_MISSED = 100
"""Largest number of different unrecorded things that are reported."""
Explain = Callable[[Recording, BaseException, SourceLine | None], None]


@contextmanager
def recording(
    script: str = "",
    *,
    every_thread: bool = True,
    level: str = "graph",
    check: bool = False,
    all_figures: bool = False,
    keep: int | None = KEPT,
    eager: bool = False,
    after_run: Callable[[Recording], None] | None = None,
    explain: Explain | None = None,
    ledger: Ledger | None = None,
) -> Iterator[Recording]:
    """Record every backward pass of both engines until the block ends; the program behaves as it does unwatched.

    ``level`` says how much: ``"graph"`` for structure only, ``"backward"`` for times and statistics of each node
    as well, ``"full"`` for every call of forward on top of that.  Yields the ``Recording``; it is complete when the
    block has ended.  An exception is recorded as an ``"error"`` event and propagates, without our frames in its
    traceback.  PyTorch may be imported inside the block.  ``after_run`` is called whenever a backward pass has ended,
    ``explain`` with an exception that the engine raises or that ends the block.  With ``check``, at level ``"full"``,
    the custom Functions that ran are compared with finite differences when the block has ended: they are called again.
    With ``all_figures`` all statistics of gradients are recorded in every pass, else as ``figure_schedule`` says.
    At most ``keep`` steps are kept in full (``kept_steps``); None keeps all.
    With ``eager`` regions of ``torch.compile`` run uncompiled, so that their calls are seen.
    ``ledger`` records the processes that the program starts.
    Raises ``UsageError`` for an unknown level.
    """
    recorder = Recorder(script, level, after_run, explain=explain, check=check, all_figures=all_figures, keep=keep)
    recorder.eager, recorder.ledger = eager, ledger
    try:
        with recorded(recorder, every_thread=every_thread):
            yield recorder.recording
    finally:
        recorder.tensors.close()


def _while_alive(method: Callable[..., None]) -> Callable[..., None]:
    """Return a function that calls a recorder's method without keeping the recorder alive: wrappers may outlive it."""
    held = weakref.WeakMethod(method)

    def call(*args: Any) -> None:
        living = held()
        if living is not None:
            living(*args)

    return call


@contextmanager
def recorded(recorder: Recorder, *, every_thread: bool = True) -> Iterator[None]:
    """Send all events inside the block to a recorder; those of forked children are left out."""
    with ExitStack() as stack:
        stack.enter_context(references_hidden())
        unseen, lost_message = _while_alive(recorder.missed), _while_alive(recorder.note_lost)
        stack.enter_context(counting_processes(lambda: unseen("processes", ""), recorder.ledger))
        for lost in LOST:
            recorder.missed(PROBLEMS, lost)
        stack.enter_context(lost_messages(lost_message))
        for source in sources():
            stack.enter_context(source.watch(recorder, every_thread=every_thread, level=recorder.recording.level))
        with in_this_process(stack.close) as stretch:
            try:
                yield
            except BaseException as error:
                if not stretch.inherited:
                    recorder.note_error(error)
                    recorder.explain(error)
                strip_own_frames(error)
                raise
            finally:
                stack.close()
                if not stretch.inherited:
                    recorder.check_functions(sys.exception())
                    recorder.tell_missed()
                recorder.recording.end()


class Recorder:
    """The sink that fills one recording."""

    def __init__(
        self,
        script: str = "",
        level: str = "graph",
        after_run: Callable[[Recording], None] | None = None,
        *,
        explain: Explain | None = None,
        check: bool = False,
        all_figures: bool = False,
        keep: int | None = KEPT,
        max_events: int = MAX_EVENTS,
    ) -> None:
        if level not in LEVELS:
            raise UsageError(f"There is no level {level!r} of recording.", f"Choose one of {', '.join(LEVELS)}.")
        created = datetime.now(UTC).isoformat(timespec="seconds")
        self.recording = Recording(script=script, created=created, level=level)
        self._journal = Journal()
        self.note: Callable[[Note], None] = self._journal.entries.append
        """Appends a note to the journal, whose source line was mentioned already."""
        self.maker: Callable[[Maker], int] = self._journal.maker
        self.tensors = TensorTable(self._journal.rows, self._journal.settle)
        self.kept_calls = KeptCalls() if check and level == "full" else None
        self.figures = FigureSchedule(always=all_figures)
        self.eager = False
        self.ledger: Ledger | None = None
        self._after_run = after_run
        self._explain = explain
        self._max_events = max_events
        self._lock = lock()
        self._runs = 0
        self._missed: Counter[Missed] = Counter()
        self._next_count = _FIRST_COUNT
        """The backward pass before which live tensors are counted next."""
        self._lines_read: set[SourceLine] = set()
        self._latest_line: SourceLine | None = None
        self._kept = KeptSnapshots(self.recording.graphs)
        self._steps = None if keep is None else KeptSteps(keep, self._journal, self.tensors, self._kept)
        self._reader = Reader(self._journal, self._steps, self._kept)
        self.recording.read_by(self._reader.read)

    def __call__(self, event: Event, snapshot: Graph | None = None) -> int:
        """Record one event and return its index; a snapshot with it is labelled by its index among the graphs."""
        with self._lock:
            if snapshot is not None:
                self._name_engine(snapshot.engine)
                for line in self._kept.keep(event, snapshot):
                    self._read_line(line)
            row = self._journal.add(event)
            if event.source is not self._latest_line:
                self._latest_line = event.source
                if event.source is not None:
                    self._read_line(event.source)
            if self._steps is not None:
                if event.kind == "backward":
                    self._steps.run_begins(accumulates=event.data.get("api", "backward") == "backward")
                elif event.kind == "backward-end":
                    self._steps.run_ended()
        if self._after_run is not None and event.kind == "backward-end":
            self._after_run(self.recording)
        return row

    def mention(self, line: SourceLine | None) -> None:
        """Keep the text of a user's line, once."""
        if line is not None:
            with self._lock:
                self._read_line(line)

    def _name_engine(self, engine: str) -> None:
        """Add to the recording's engines that of a graph."""
        known = self.recording.engine
        if engine != known:
            self.recording.engine = "+".join(sorted({engine, *filter(None, known.split("+"))}))

    def files(self) -> list[str]:
        """Return the user's files with recorded lines."""
        with self._lock:
            return list(self.recording.sources)

    def begin_run(self) -> int:
        """Return the number of a new backward pass."""
        with self._lock:
            self._runs += 1
            self.figures.comes(self._runs)
            self.tensors.begins_run(len(self._journal))
            if self._runs == self._next_count:
                self._next_count *= 2
                self.tensors.count_living(len(self._journal))
            return self._runs - 1

    def stepped(self, optimizer: int) -> None:
        """Note that the optimizer with this number steps; this may end a step of the program."""
        if self._steps is not None:
            with self._lock:
                self._steps.stepped(optimizer)

    def number(self, tensor: Any) -> int | None:
        """Return the index of a live tensor in the recording, None if it was not seen."""
        known = self.tensors.known(tensor)
        return None if known is None else self._reader.number(known)

    def missed(self, what: str, why: str) -> None:
        """Note that something cannot be recorded: what, in the words of ``unseen``, and why."""
        if len(self._missed) >= _MOST_MISSED and (what, why) not in self._missed:
            why = "and more"
        if what == PROBLEMS and not any(known == what for known, _ in self._missed):
            say_at_once(why)
        self._missed[what, why] += 1

    def tell_missed(self) -> None:
        """Add an event for all that could not be recorded."""
        for event in missed_events(self._missed):
            self(event)
        self._missed.clear()

    def among_ranks(self) -> bool:
        """Whether this process is one of several ranks."""
        return (self.recording.world_size or 1) > 1

    def wants(self) -> bool:
        """Whether events of level ``full`` are still recorded."""
        return len(self._journal.entries) < self._max_events

    def explain(self, error: BaseException, line: SourceLine | None = None) -> None:
        """Add the cause to an exception, if that was asked for; ``line`` is the user's line that raised it."""
        if self._explain is not None and isinstance(error, Exception):
            self._explain(self.recording, error, line)

    def note_error(self, error: BaseException) -> None:
        """Record the exception that ended the block."""
        event = error_event(error)
        try:
            if "worker" not in event.data:
                event.data |= self._failure(error)
        except Exception as problem:
            reraise_from_handler(problem)
        self.mention(last_line(error.__traceback__))
        self(event)

    def note_lost(self, error: BaseException, parts: list[Any]) -> None:
        """Record that a queue could not send an object, and the tensors in it."""
        inputs = [number for number in map(self.tensors.known, parts) if number is not None]
        data = {"type": type(error).__name__, "message": text_of(error), "inputs": inputs}
        self(Event("lost", "queue", last_line(error.__traceback__), data))
        if self.ledger is not None:
            self.ledger.keep()

    def _failure(self, error: BaseException) -> dict[str, Any]:
        """Describe where an exception was raised, and the tensors that its expression names."""
        failed = failure_of(_handled(error))
        spelled, known = failed.spelled, {text: self.tensors.known(one) for text, one in failed.operands.items()}
        return {
            "call": spelled.form,
            "receiver": spelled.receiver,
            "targets": list(spelled.targets),
            "operands": {text: number for text, number in known.items() if number is not None},
            "inputs": [number for number in map(self.tensors.known, failed.given) if number is not None],
            "raised_in": failed.raised_in,
            "through": failed.through,
            "by_program": failed.by_program,
        }

    def check_functions(self, error: BaseException | None) -> None:
        """Compare the custom Functions that ran with finite differences, unless Ctrl-C ended the program."""
        if self.kept_calls is not None and not isinstance(error, (KeyboardInterrupt, GeneratorExit)):
            check_functions(self.recording, self.kept_calls, self)

    def _read_line(self, line: SourceLine) -> None:
        """Keep the text of a recorded line and of its neighbours, which reports show around it."""
        if line in self._lines_read:
            return
        self._lines_read.add(line)
        known = lines_of(line.file)
        if line.file not in self.recording.sources:  # what draws without an engine is mentioned by no event
            self.recording.sources[line.file] = _drawing(known)
        texts = self.recording.sources[line.file]
        texts.setdefault(line.line, "")
        for number in range(max(line.line - _AROUND, 1), min(line.line + _AROUND, len(known)) + 1):
            texts[number] = known[number - 1].rstrip("\r\n")


def _drawing(known: list[str]) -> dict[int, str]:
    """Return the lines of a file that draw random numbers from Python's or NumPy's generators."""
    return {number: text.rstrip("\r\n") for number, text in enumerate(known, 1) if ELSEWHERE.search(text)}


def error_event(error: BaseException) -> Event:
    """Return the event for what ended a program; an exit while handling an exception is reported as that exception.

    An exception that a worker raised and the program raised again is reported as the worker's.
    """
    error = _handled(error)
    line, text = last_line(error.__traceback__), text_of(error)
    of_worker = relayed(text)
    if of_worker is None:
        return Event("error", source=line, data={"type": type(error).__name__, "message": text})
    data = of_worker.data() | {"again": None if line is None else line.plain()}
    return Event("error", source=of_worker.line or line, data=data)


def _handled(error: BaseException) -> BaseException:
    """Return the exception that an exit was handling."""
    if isinstance(error, SystemExit) and error.code not in (None, 0):
        return error.__cause__ or error.__context__ or error
    return error


def text_of(value: object) -> str:
    """Return ``str(value)``, or an empty string if that raises."""
    try:
        return str(value)
    except Exception:
        return ""
