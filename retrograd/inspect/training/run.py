"""``watch``: figures of every step of a training, and the evidence when something goes wrong."""

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
from types import TracebackType
from typing import Any

from ...errors import OutputError
from ...interpreter import getframe
from ..diagnosis.text.words import at
from ..forks import in_this_process
from ..program.frames import source_line, user_frame
from ..program.modules import inner_modules
from ..render.run_page import run_page
from ..sources.importing import AfterImport
from ..writing import check_writable, write_output
from .black_box import repeated
from .engines import Engine, engines
from .exports import export
from .guarded import Guard
from .history import Column, Curves, History
from .live import LiveTable
from .meter import Meter, Reading
from .names import given_names
from .replay import Before
from .triggers import Moment, Triggers, Usual, armed
from .watched_file import WatchedRun, encoded, load_run

FORMS = ("html", "json")
"""Forms in which a run is written: a page, or data that `retrograd stats`, `diff` and `render` read."""
MEMORY = 24_000_000
"""Bytes of figures kept if nobody says otherwise."""
FLUSH = 30.0
"""Seconds between two times that the file is written."""
_MOST_HAPPENED = 1_000
"""Things that happened kept in the file."""

Action = str | Callable[[dict[str, Any]], object]
"""``"report"``, ``"raise"``, ``"pdb"``, or what is called with what happened."""


class TrainingWentWrong(RuntimeError):  # noqa: N818 -- what it says
    """Raised at the step in which a trigger fired, where ``action="raise"`` was asked for."""


class watch:  # noqa: N801 - lower-case, as context managers of PyTorch are
    """Watch a training run: what its gradients, weights and updates do in every step, in bounded memory.

    ::

        with rg.watch(model, optimizer, file="run.json") as run:
            for x, y in loader:
                ...
        print(run.curves.of("loss"))

    Or ``run = rg.watch(...)`` and ``run.close()``.  Without arguments everything is found as it is used: every
    optimizer that steps is watched, of both engines, and parameters are named after its modules and variables.

    ``every``: steps from one reading to the next.  ``memory``: bytes of figures; older steps give way to stretches
    with minimum, median and maximum.  ``triggers``: names of what is looked for (``triggers.TRIGGERS``), names with
    limits, or functions of a ``Moment`` that return a sentence where something is wrong; ``False`` for none.
    ``action``: what is done then, ``"report"`` (write and go on), ``"raise"``, ``"pdb"``, or a function of what
    happened.  ``replay``: the step in which a trigger fires is run again under full recording, in a copy of the
    process, and diagnosed; buffers and states of generators are noted in each step for that.  ``file``: where the run
    is written, every ``flush`` seconds and when it ends; recordings of repeated steps lie beside it.  ``resume``: go
    on in that file, the break marked.  ``live``: the newest steps stand at the bottom of the terminal, where stderr is
    one.  ``fmt``: ``"html"`` for a page, ``"json"`` for data, else as the suffix says.

    Raises ``OutputError`` where the file cannot be written, ``ValueError`` for a trigger that there is not.  What goes
    wrong with watching later is said once and does not reach the program.
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
        self._usual: dict[tuple[int, int], Usual] = {}
        self._live = LiveTable() if live else None
        self._written = time.monotonic()
        self.unwritten = ""
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
        """The number of the step under way, from 1."""
        return max((meter.step for meter in self._meters.values()), default=self._first)

    @property
    def run(self) -> WatchedRun:
        """All that was watched up to now."""
        return WatchedRun(self._history.curves(), list(self.happened), dict(self.about))

    @property
    def curves(self) -> Any:
        """Figures by stretches of steps: ``curves.of("gradient", "net.0.weight")`` at ``curves.first``."""
        return self._history.curves()

    @property
    def problems(self) -> int:
        """How often something could not be read."""
        return self._guard.count

    def newest(self, count: int) -> Curves:
        """Return figures of the last steps, at most ``count``, one by one."""
        return self._history.newest(count)

    def note(self, text: str, **values: float) -> None:
        """Mark the step under way with a sentence, as where an evaluation begins; ``values`` become curves."""
        self._happen("note", str(text))
        for name, value in values.items():
            for meter in self._meters.values():
                meter.set(Column("value", name), float(value))

    def dump(self) -> dict[str, Any]:
        """Write what there is now: the file of the run, and where the program stands."""
        found = self._happen("dump", f"asked for{at(source_line(user_frame(getframe(1))))}")
        self.save()
        return found

    def save(self) -> None:
        """Write the file of the run; raises ``OutputError``."""
        self._written = time.monotonic()
        if self.file is not None:
            write_output(self.text(), self.file)

    def text(self) -> str:
        """Return the run as it is written: a page, or data."""
        return run_page(self.run) if self._form == "html" else encoded(self.run)

    def export(self, path: str | os.PathLike[str], fmt: str | None = None) -> None:
        """Write what was watched for another tool: ``.csv``, ``.parquet``, a folder for ``tensorboard`` or ``wandb``.

        Raises ``UnknownFormatError``, ``OutputError``, and ``LayoutError`` where the tool's library is not installed.
        """
        export(self.run, os.fspath(path), fmt)

    def close(self) -> None:
        """Stop watching and write the file; once is enough, more does no harm."""
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
        """Note the exception that ends the program."""
        entry = error.__traceback__
        while entry is not None and entry.tb_next is not None:
            entry = entry.tb_next
        frame = None if entry is None else user_frame(entry.tb_frame)
        self._happen("exception", f"{type(error).__name__}: {error}{at(source_line(frame))}")

    # -- watching

    def _begin(self) -> None:
        """Hear of each engine, now or once the program imports it."""
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
        """``kill -USR1``: write what there is, unless the program has a use for that signal itself."""
        if signal.getsignal(signal.SIGUSR1) is not signal.SIG_DFL:
            return
        ours = lambda number, frame: self._guard(self.dump)  # noqa: E731 -- told apart from the program's below
        signal.signal(signal.SIGUSR1, ours)

        def put_back() -> None:
            if signal.getsignal(signal.SIGUSR1) is ours:
                signal.signal(signal.SIGUSR1, signal.SIG_DFL)

        self._watching.callback(put_back)

    def _left_by_child(self) -> None:
        """Be silent in a child that the program forked."""
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
        """Write the file; that it cannot be written is said once, and tried again: a full disk may be cleared."""
        try:
            self.save()
            self.unwritten = ""
        except OutputError as error:
            if not self.unwritten and sys.stderr is not None:
                print(f"retrograd: error: {error} What was written before is there.", file=sys.stderr)
            self.unwritten = str(error)

    def _buffers(self) -> list[Any]:
        """Return the buffers of the modules that were given."""
        modules = [] if self._models is None else _listed(self._models)
        found = {
            id(one): one for module in modules for _, inner in inner_modules(module) for one in _own_buffers(inner)
        }
        return list(found.values())

    def _judge(self, meter: Meter, optimizer: Any) -> None:
        """Ask the triggers about a step that was read, and do what was asked for where one fires."""
        found: list[dict[str, Any]] = self._guard(self._judged, meter, optimizer) or []
        if self._live is not None:
            self._guard(self._live.show, self)
        if time.monotonic() - self._written > self._flush:
            self._guard(self._write)
        for one in found:
            self._act(one)

    def _judged(self, meter: Meter, optimizer: Any) -> list[dict[str, Any]]:
        names, figures = meter.figures(optimizer)
        usual = self._usual.setdefault((id(optimizer), len(names)), Usual(len(names)))
        value = meter.value
        moment = Moment(
            meter.step, value("loss"), names, figures, value("rate"), value("scale"), value("seconds"),
            value("memory"), value("nodes"), meter.trained(optimizer), usual,
        )  # fmt: skip
        fired = self._triggers.of(moment)
        found = [self._happen("trigger", sentence, trigger=name) for name, sentence in fired]
        if found:
            frame = user_frame(getframe())
            file = f"{os.path.splitext(self.file or 'run')[0]}.step{self.step}.json"
            again = repeated(meter, frame, [optimizer], file)
            for one in found:
                one["again"] = again
                one["at"] = at(source_line(frame)).strip()
            self._write()
        return found

    def _act(self, happened: dict[str, Any]) -> None:
        """Report what happened, and do what was asked for."""
        if callable(self._action):
            self._action(happened)
            return
        if sys.stderr is not None:
            print(f"retrograd: {told(happened)}", file=sys.stderr)
        if self._action == "raise":
            raise TrainingWentWrong(told(happened))
        if self._action == "pdb":
            pdb.Pdb().set_trace(user_frame(getframe()))

    def _happen(self, kind: str, text: str, **more: Any) -> dict[str, Any]:
        """Note something at the step under way."""
        found = {"step": self.step, "kind": kind, "text": text, **more}
        if len(self.happened) < _MOST_HAPPENED:
            self.happened.append(found)
        return found

    def _go_on(self) -> None:
        """Take in what the file has from before, and mark the break."""
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
    """Return several things as a list, one alone as a list of it."""
    if isinstance(given, Mapping):
        return list(given.values())
    return list(given) if isinstance(given, (list, tuple)) else [given]


def told(happened: dict[str, Any]) -> str:
    """Say what happened at a step, with what running it again has shown."""
    again = happened.get("again", {})
    where = f" {happened['at']}" if happened.get("at") else ""
    sentence = f"step {happened['step']:,}{where}: {happened['text']}."
    if again.get("reason"):
        return f"{sentence} The step was not run again: {again['reason']}."
    if again.get("file"):
        same = "the same to the bit" if again["equal"] else f"another one, {again['loss']}"
        sentence += f" Run again, the loss is {same}; recorded in {again['file']}."
        for finding in again["findings"][:2]:
            sentence += f"\n  {finding['kind']}: {finding['message']}"
            if finding.get("remedy"):
                sentence += f"\n  fix: {finding['remedy']}"
    return sentence
