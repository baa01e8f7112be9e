"""``watch``: statistics of every step of a training run, and the evidence when something goes wrong."""

from __future__ import annotations

import os
import pdb
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any

from ...errors import OutputError
from ...interpreter import getframe
from ..diagnosis.text.words import at
from ..histories.history import Column, Curves, History
from ..histories.watched_file import WatchedRun, encoded, load_run
from ..process.forks import in_this_process
from ..program.frames import source_line, user_frame
from ..program.modules import inner_modules
from ..render.run_page import run_page
from ..sources.importing import AfterImport
from ..writing import check_writable, write_output
from .black_box import repeated
from .by_hand import HOW, ByHand
from .engines import Engine, engines
from .exports import export
from .guarded import Guard
from .live import LiveTable
from .meter import Meter, Reading
from .moments import Moment, Usual
from .names import given_names
from .replay import Before, Place
from .triggers import Triggers, armed

FORMS = ("html", "json")
"""Forms in which a run is written: a page, or data that `retrograd stats`, `diff` and `render` read."""
MEMORY = 24_000_000
"""Bytes of statistics kept by default."""
FLUSH = 30.0
"""Seconds between two times that the file is written."""
_MOST_HAPPENED = 1_000
"""Things that happened kept in the file."""

Action = str | Callable[[dict[str, Any]], object]
"""``"report"``, ``"raise"``, ``"pdb"``, or what is called with what happened."""


class TrainingWentWrong(RuntimeError):  # noqa: N818 -- what it says
    """Raised in the step in which a trigger fires, with ``action="raise"``."""


class watch:  # noqa: N801 - lower-case, as context managers of PyTorch are
    """Watch a training run: statistics of gradients, weights and updates in every step, in bounded memory.

    ::

        with rg.watch(model, optimizer, file="run.json") as run:
            for x, y in loader:
                ...
        print(run.curves.of("loss"))

    Or ``run = rg.watch(...)`` and ``run.close()``. Without arguments, every optimizer that steps is watched, on either
    engine, and parameters are named after the program's modules and variables.

    ``every``: steps from one reading to the next. ``memory``: bytes of statistics to keep; older steps are merged into
    stretches with minimum, median and maximum. ``triggers``: names of what to look for (``triggers.TRIGGERS``), a
    mapping from names to limits, or functions that take a ``Moment`` and return a sentence if something is wrong;
    ``False`` for none. ``action``: what to do when one fires: ``"report"`` (write and go on), ``"raise"``, ``"pdb"``,
    or a function. ``replay``: run the step in which a trigger fires again under full recording, in a copy of the
    process, and diagnose it; buffers and generator states are saved in each step for that. ``file``: where the run is
    written, every ``flush`` seconds and at its end; recordings of repeated steps are written beside it. ``resume``:
    continue in that file, with the break marked. ``live``: show the newest steps at the bottom of the terminal, if
    stderr is one. ``fmt``: ``"html"`` for a page, ``"json"`` for data; by default as the suffix says.

    Raises ``OutputError`` if the file cannot be written, and ``ValueError`` for an unknown trigger. A later failure of
    watching is reported once and does not reach the program.
    """

    def __init__(
        self,
        model: Any = None,
        optimizer: Any = None,
        *,
        every: int = 1,
        file: str | os.PathLike[str] | None = None,
        triggers: Iterable[Any] | Mapping[Any, object] | bool | None = None,
        action: Action = "report",
        replay: bool = False,
        memory: int = MEMORY,
        flush: float = FLUSH,
        resume: bool = False,
        live: bool = False,
        script: str = "",
        fmt: str | None = None,
    ) -> None:
        if every < 1:
            raise ValueError(f"every is {every}; it must be at least 1")
        self.file = None if file is None else os.path.abspath(file)
        if self.file is not None:
            check_writable(self.file)
        self._form = fmt or ("html" if (self.file or "").endswith((".html", ".htm")) else "json")
        self._history = History(memory)
        self.happened: list[dict[str, Any]] = []
        """What triggers found, notes of the program, and new starts of it; each with ``step`` and ``kind``."""
        self.about: dict[str, Any] = {
            "script": script or os.path.basename(getattr(sys.modules.get("__main__"), "__file__", None) or ""),
            "began": datetime.now(UTC).isoformat(timespec="seconds"),
            "every": every,
            "complete": False,
        }
        self._replay = replay
        self._models = model
        self._triggers: Triggers = armed(() if triggers is False else None if triggers is True else triggers)
        self._action, self._flush, self._guard = action, flush, Guard()
        self._meters: dict[str, Meter] = {}
        self._usual: dict[int, tuple[list[str], Usual]] = {}
        self._live = LiveTable() if live else None
        self._written = time.monotonic()
        self.unwritten, self._was_written = "", False
        """Why the file could not be written the last time that this was tried."""
        self._inherited = False
        self._first = 0
        if resume:
            self._go_on()
        only = None if optimizer is None else frozenset(id(one) for one in _listed(optimizer))
        self._reading = Reading(self._history, every, given_names(model), only, self._first)
        self._watching = ExitStack()
        self._begin()

    # -- what users call

    @property
    def step(self) -> int:
        """The number of the current step, from 1."""
        return max((meter.step for meter in self._meters.values()), default=self._first)

    @property
    def run(self) -> WatchedRun:
        """Everything that has been watched so far."""
        modes = [seen for meter in self._meters.values() for seen in meter.modes.seen().items()]
        about = {**self.about, "modes": dict(modes)}
        return WatchedRun(self._history.curves(), list(self.happened), about)

    @property
    def curves(self) -> Any:
        """Statistics by stretches of steps, which begin at ``first``: ``curves.of("gradient", "net.0.weight")``."""
        return self._history.curves()

    @property
    def problems(self) -> int:
        """How many readings failed."""
        return self._guard.count

    def newest(self, count: int) -> Curves:
        """Return the statistics of the last steps, at most ``count`` of them, one entry for each."""
        return self._history.newest(count)

    def note(self, text: str, **values: float) -> None:
        """Mark the current step with a sentence, such as the start of an evaluation; ``values`` become curves."""
        self._happen("note", str(text))
        for name, value in values.items():
            for meter in self._meters.values():
                meter.set(Column("value", name), float(value))

    def dump(self) -> dict[str, Any]:
        """Write the current state now: the file of the run, and the stacks of the program."""
        found = self._happen("dump", f"asked for{at(source_line(user_frame(getframe(1))))}")
        self.save()
        return found

    def save(self) -> None:
        """Write the file of the run; raises ``OutputError``."""
        self._written = time.monotonic()
        if self.file is not None:
            write_output(self.text(), self.file)

    def text(self) -> str:
        """Return the run as text in the given format: an HTML page, or JSON."""
        return run_page(self.run) if self._form == "html" else encoded(self.run)

    def export(self, path: str | os.PathLike[str], fmt: str | None = None) -> None:
        """Write the run for another tool: ``.csv``, ``.parquet``, a folder for ``tensorboard`` or ``wandb``.

        Raises ``UnknownFormatError``, ``OutputError``, and ``LayoutError`` if the tool's library is not installed.
        """
        export(self.run, os.fspath(path), fmt)

    def close(self) -> None:
        """Stop watching and write the file; further calls do nothing."""
        self._watching.close()

    def __enter__(self) -> watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.failed(error)
        self.close()

    def failed(self, error: BaseException) -> None:
        """Record the exception that ends the program."""
        entry = error.__traceback__
        while entry is not None and entry.tb_next is not None:
            entry = entry.tb_next
        frame = None if entry is None else user_frame(entry.tb_frame)
        self._happen("exception", f"{type(error).__name__}: {error}{at(source_line(frame))}")

    # -- watching

    def _begin(self) -> None:
        """Subscribe to each engine, now or when the program imports it."""
        self._watching.callback(self._ended)
        for engine in engines().values():
            if engine.available():
                self._hear(engine)
            else:
                waiting = AfterImport(engine.module, lambda engine=engine: self._guard(self._hear, engine))  # type: ignore[misc]
                waiting.begin()
                self._watching.callback(waiting.end)
        self._watching.enter_context(in_this_process(self._left_by_child))
        if threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGUSR1"):
            self._listen_to_signal()

    def _hear(self, engine: Engine) -> None:
        meter = Meter(engine, self._reading, self._judge, self._guard)
        if self._replay:
            meter.before = Before(engine, self._buffers)
        self._meters[engine.name] = meter
        self._watching.enter_context(engine.hear(meter))

    def _listen_to_signal(self) -> None:
        """Write the current state on ``kill -USR1``, unless the program handles that signal itself."""
        if signal.getsignal(signal.SIGUSR1) is not signal.SIG_DFL:
            return
        ours = lambda number, frame: self._guard(self.dump)  # noqa: E731 -- distinguished from the program's below
        signal.signal(signal.SIGUSR1, ours)

        def put_back() -> None:
            if signal.getsignal(signal.SIGUSR1) is ours:
                signal.signal(signal.SIGUSR1, signal.SIG_DFL)

        self._watching.callback(put_back)

    def _left_by_child(self) -> None:
        """Stop watching in a child that the program forked."""
        self._inherited = True
        if self._live is not None:
            self._live.forget()
        self._watching.close()

    def _ended(self) -> None:
        """Write the last row and the file."""
        if self._inherited:
            return
        if self._live is not None:
            self._live.close()
        for meter in self._meters.values():
            self._guard(meter.close)
        self.about["complete"] = True
        self._write()

    def _write(self) -> None:
        """Write the file; a failure is reported once, and writing is tried again later: a full disk may be cleared."""
        try:
            self.save()
            self.unwritten, self._was_written = "", True
        except OutputError as error:
            if not self.unwritten and sys.stderr is not None:
                kept = " What was written before is there." if self._was_written else ""
                print(f"retrograd: error: {error}{kept}", file=sys.stderr)
            self.unwritten = str(error)

    def _buffers(self) -> list[Any]:
        """Return the buffers of the modules that were given."""
        modules = [] if self._models is None else _listed(self._models)
        found = {
            id(one): one for module in modules for _, inner in inner_modules(module) for one in _own_buffers(inner)
        }
        return list(found.values())

    def _judge(self, meter: Meter, optimizer: Any) -> None:
        """Pass a step that was read to the triggers, and act if one fires."""
        found: list[dict[str, Any]] = self._guard(self._judged, meter, optimizer) or []
        if self._live is not None:
            self._guard(self._live.show, self)
        if time.monotonic() - self._written > self._flush:
            self._guard(self._write)
        for one in found:
            self._act(one)

    def _usual_of(self, optimizer: Any, names: list[str]) -> Usual:
        """Return the statistics of an optimizer's earlier steps; it may have been given more parameters meanwhile."""
        before, usual = self._usual.get(id(optimizer)) or (names, Usual(len(names)))
        if names is not before and names[: len(before)] == before:
            usual.widen(len(names) - len(before))
        elif names is not before:
            usual = Usual(len(names))
        self._usual[id(optimizer)] = (names, usual)
        return usual

    def _judged(self, meter: Meter, optimizer: Any) -> list[dict[str, Any]]:
        """Return what triggers found in a step, with the outcome of its repetition."""
        (names, figures), known = meter.figures(optimizer), meter.trained_by(optimizer)
        by_hand = isinstance(optimizer, ByHand)
        if by_hand:
            self.about["steps"] = HOW
        usual = self._usual_of(optimizer, names)
        value = meter.value
        moment = Moment(
            meter.step, value("loss"), meter.exact, names, figures, value("rate"), known.rates(optimizer),
            meter.set_by(optimizer), value("scale"), value("seconds"), value("memory"), value("nodes"),
            meter.graphs.name, partial(known.entries, meter.engine), known.requires(), meter.left_out, usual,
        )  # fmt: skip
        if turned := usual.turned(moment):
            self._happen("note", turned)
        fired = self._triggers.of(moment)
        found = [self._happen("trigger", sentence, trigger=name) for name, sentence in fired]
        if found:
            place = meter.place or Place(user_frame(getframe()), kept=self._replay)
            file = f"{os.path.splitext(self.file or 'run')[0]}.step{self.step}.json"
            again = repeated(meter, place, [] if by_hand else [optimizer], file)
            for one in found:
                one["again"] = again
                one["at"] = at(place.line).strip()
            self._write()
        return found

    def _act(self, happened: dict[str, Any]) -> None:
        """Report what happened, and do what ``action`` says."""
        if callable(self._action):
            self._action(happened)
            return
        if sys.stderr is not None:
            print(f"retrograd: {sentence(happened)}", file=sys.stderr)
        if self._action == "raise":
            raise TrainingWentWrong(sentence(happened))
        if self._action == "pdb":
            pdb.Pdb().set_trace(user_frame(getframe()))

    def _happen(self, kind: str, text: str, **more: Any) -> dict[str, Any]:
        """Add a note to the current step."""
        found = {"step": self.step, "kind": kind, "text": text, **more}
        if len(self.happened) < _MOST_HAPPENED:
            self.happened.append(found)
        return found

    def _go_on(self) -> None:
        """Load what the file holds from an earlier run, and mark the break."""
        if self.file is None or not os.path.exists(self.file):
            return
        if self._form == "html":
            raise ValueError("a page cannot be gone on with: give a file whose name ends in .json, and resume that")
        earlier = load_run(self.file)
        self._history.take_in(earlier.curves)
        self.happened += earlier.happened
        self._first = earlier.steps
        self._happen("resumed", f"started again after step {earlier.steps}")


def _own_buffers(module: Any) -> list[Any]:
    return [one for one in vars(module).get("_buffers", {}).values() if one is not None]


def _listed(given: Any) -> list[Any]:
    """Return a list: of the things given, or of the one thing."""
    if isinstance(given, Mapping):
        return list(given.values())
    return list(given) if isinstance(given, (list, tuple)) else [given]


def sentence(happened: dict[str, Any]) -> str:
    """Return the sentence about a step in which a trigger fired, with the findings of its replay."""
    again = happened.get("again", {})
    where = f" {happened['at']}" if happened.get("at") else ""
    sentence = f"step {happened['step']:,}{where}: {happened['text']}."
    if again.get("reason"):
        return f"{sentence} The step was not run again: {again['reason']}."
    if again.get("file"):
        same = "the same to the bit" if again["equal"] else f"another one, {again['loss']}"
        part = f" ({again['part']})" if again.get("part") else ""
        sentence += f" Run again{part}, the loss is {same}; recorded in {again['file']}."
        for finding in again["findings"][:2]:
            sentence += f"\n  {finding['kind']}: {finding['message']}"
            if finding.get("remedy"):
                sentence += f"\n  fix: {finding['remedy']}"
    return sentence
