"""Watches a PyTorch program: one set of patches for all watchers, gone when the last one leaves.

In force while somebody watches: a ``TorchFunctionMode`` on each watched thread, global module hooks, and wrappers of
``_engine_run_backward``, of what shows warnings, and (to reach threads that start later) of the thread bootstrap.
Nothing that goes wrong in here reaches the program: it becomes an ``"error"`` event of the recording.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ...garbage import collector_paused
from ...program.frames import forget_judgements, user_frame
from ...program.spelling import forget_places
from ...program.stacks import forget_stacks
from ..base import Origins, Sink, Source
from ..named_scopes import FOLLOWERS
from ..naming import NameMemory
from ..origins import OriginTables
from ..patches import Patches
from .calls import is_traced, unseen
from .checkpoint import Checkpoints
from .figures import Memory
from .forward import ForwardWriter, Inside
from .functions import Functions
from .hooks import Handles, Hooked
from .importing import AfterImport
from .layout import Latest
from .mode import push_mode, put_on, take_off
from .owners import Owners
from .parameters import Parameters
from .pause import OptimizerPause
from .repeats import Repeats
from .runs import Asked, RunWriter
from .scopes import Running, Scopes
from .warnings_ import wrap_show


class _Thread(threading.local):
    """What belongs to one thread."""

    mode: Any = None
    paused = False
    """Whether the mode is off for a while."""

    def __init__(self) -> None:
        self.stack: list[Running] = []
        self.inside = Inside()
        self.outer: list[tuple[int | None, bool]] = []
        """What each run under way goes back to: the run around it, and whether the mode was put on for it."""


class _Lasting:
    """What all watchers share, and the next ones find again."""

    def __init__(self) -> None:
        self.hooked, self.latest, self.repeats, self.memory = Hooked(), Latest(), Repeats(), Memory()


class _Watch:
    """One watcher: where it wants its events, and of which thread (None for all)."""

    def __init__(self, sink: Sink, source: Source, thread: int | None, level: str, lasting: _Lasting) -> None:
        self.sink = sink
        self.source = source
        self.thread = thread
        self.level = level
        self.forward: ForwardWriter | None = None
        """Who listens to calls, at level ``full``."""
        self.hooked, self.latest, self.repeats = lasting.hooked, lasting.latest, lasting.repeats
        self.memory = lasting.memory
        self._process = os.getpid()

    def is_here(self) -> bool:
        """Whether it began in this process; a forked child only inherits it."""
        return os.getpid() == self._process

    def sees(self, thread: int) -> bool:
        """Whether it wants to know of this thread of this process."""
        return (self.thread is None or self.thread == thread) and self.is_here()


class Watcher:
    """The one watcher of PyTorch in this process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._watches: list[_Watch] = []
        self._thread = _Thread()
        self._pause = OptimizerPause(self._thread)
        self._patches: Patches | None = None
        self._modes: set[Any] = set()
        """The modes in force, of all threads."""
        self._handles: list[Any] = []
        self.memory: NameMemory | None = None
        """Names learned under the present watch."""
        self._tables: OriginTables | None = None
        self._scopes: Scopes | None = None
        self._functions: Functions | None = None
        self._lasting = _Lasting()
        self._import = AfterImport("torch", self._torch_arrived)

    # -- for the source
    def origins(self) -> Origins | None:
        """Return who knows where nodes came from, while watching."""
        return self._tables

    def modules(self) -> list[tuple[str, Any]]:
        """Return the outermost modules seen so far with their names."""
        return [] if self._scopes is None else self._scopes.modules()

    @contextmanager
    def watch(self, sink: Sink, source: Source, *, every_thread: bool, level: str) -> Iterator[None]:
        """Watch until the block ends."""
        thread = None if every_thread else threading.get_ident()
        me = _Watch(sink, source, thread, level, self._lasting)
        self._begin(me)
        try:
            yield
        finally:
            self._end(me)

    # -- coming and going
    def _begin(self, watch: _Watch) -> None:
        with self._lock:
            self._watches.append(watch)
            if "torch" in sys.modules and hasattr(sys.modules["torch"], "autograd"):
                self._install()
                self._join_thread()
                self._listen()
            elif len(self._watches) == 1:
                self._import.begin()

    def _end(self, watch: _Watch) -> None:
        with self._lock:
            self._watches.remove(watch)
            if watch.forward is not None:
                watch.forward.close()
            self._listen()
            if not any(other.sees(threading.get_ident()) for other in self._watches):
                self._leave_thread()
            if not self._watches:
                self._import.end()
                self._uninstall()

    def _torch_arrived(self) -> None:
        """The program has just imported PyTorch, on this thread."""
        forget_judgements()
        with self._lock:
            if any(watch.is_here() for watch in self._watches):
                self._install()
                self._join_thread()
                self._listen()

    def _install(self) -> None:
        """Put all hooks and patches in place, once."""
        if self._patches is not None:
            return
        torch: Any = sys.modules["torch"]
        self._tables, self.memory = OriginTables(), NameMemory()
        owners = Owners(self._seeing, self._pause)
        self._scopes = Scopes(owners.module)
        module = torch.nn.modules.module
        self._handles = [
            module.register_module_forward_pre_hook(self._module_begins),
            module.register_module_forward_hook(self._module_ended, always_call=True),
        ]
        self._patches = Patches()
        for holder in (torch.autograd.graph, torch.autograd):
            self._patches.wrap(holder, "_engine_run_backward", self._wrap_backward)
        self._patches.wrap(module, "_has_any_global_hook", self._wrap_has_hooks)
        self._patches.wrap(warnings, "_showwarnmsg", wrap_show)
        self._patches.wrap(threading.Thread, "_bootstrap_inner", self._wrap_bootstrap)
        self._patches.wrap(torch.nn.Parameter, "__new__", Parameters(self._seeing_all).wrap_new)
        Handles(self._seeing_all).install(self._patches)
        self._follow_optimizers(torch, owners)
        FOLLOWERS.append(self._user_scope)

    def _follow_optimizers(self, torch: Any, owners: Owners) -> None:
        """Let optimizers tell what they do."""
        assert self._patches is not None
        optimizer: Any = sys.modules[torch.optim.Optimizer.__module__]
        self._patches.wrap(optimizer.Optimizer, "__init__", owners.wrap_init)
        self._patches.wrap(optimizer.Optimizer, "zero_grad", owners.wrap_zero_grad)
        self._handles.append(optimizer.register_optimizer_step_pre_hook(owners.step_begins))
        self._handles.append(optimizer.register_optimizer_step_post_hook(owners.step_ended))

    def _follow_functions(self) -> None:
        """Let custom Functions and checkpoints tell what they do, from level ``backward`` on."""
        if self._functions is not None or self._patches is None or self._tables is None:
            return
        torch: Any = sys.modules["torch"]
        self._functions = Functions(self._seeing_more, self._tables.here, self._inside)
        self._functions.install()
        self._patches.wrap(torch.autograd.function.BackwardCFunction, "apply", self._functions.wrap_rule)
        self._patches.wrap(torch.Tensor, "register_hook", self._lasting.hooked.wrap_register)
        checkpoints = Checkpoints(self._seeing_more, lambda: self._thread.inside.run, lambda: len(self._modes))
        checkpoints.install(self._patches)

    def _inside(self) -> Inside:
        return self._thread.inside

    def _uninstall(self) -> None:
        """Take all hooks and patches off, and forget what they had learned."""
        if self._user_scope in FOLLOWERS:
            FOLLOWERS.remove(self._user_scope)
        if self._functions is not None:
            self._functions.uninstall()
            self._functions = None
        if self._patches is not None:
            self._patches.undo()
            self._patches = None
        while self._handles:
            self._handles.pop().remove()
        while self._modes:
            self._modes.pop().active = False  # one of another thread stays there until that thread is watched again
        self._tables = self._scopes = self.memory = None
        self._lasting.hooked.numbers.clear()
        self._lasting.memory.forget()
        forget_judgements()
        forget_places()
        forget_stacks()

    def _join_thread(self) -> None:
        """Note the lines of the current thread from now on."""
        if self._thread.mode is not None and not self._thread.mode.active:
            self._leave_thread()  # left over from a watch that another thread ended
        if self._thread.mode is None and self._tables is not None:
            torch: Any = sys.modules["torch"]
            marks = self._tables.here(torch.autograd._get_sequence_nr())
            self._thread.mode = push_mode(marks)
            self._thread.inside.optimizer = False
            self._modes.add(self._thread.mode)
            self._tune(self._thread.mode)

    def _listen(self) -> None:
        """Let every mode tell the recordings at level ``full`` that watch its thread of its calls."""
        if self._tables is None:
            return
        if any(watch.level != "graph" for watch in self._watches):
            self._follow_functions()
        for watch in self._watches:
            if watch.level == "full" and watch.forward is None:
                watch.forward = ForwardWriter(watch.sink, self._tables.here, self._inside)
        for mode in list(self._modes):
            self._tune(mode)

    def _tune(self, mode: Any) -> None:
        """Tell a mode who listens to its thread."""
        forward = (watch.forward for watch in self._watches if watch.sees(mode.thread))
        mode.listeners = tuple(writer for writer in forward if writer is not None)

    def _leave_thread(self) -> None:
        """Stop noting the lines of the current thread."""
        mode, self._thread.mode, self._thread.paused = self._thread.mode, None, False
        if mode is not None:
            mode.active, mode.marks.line, mode.marks.settled = False, None, None
            self._modes.discard(mode)
            take_off(mode)
        self._thread.stack.clear()

    def _is_watched(self) -> bool:
        """Whether the current thread is watched; a forked child is not, unless it watches itself."""
        me = threading.get_ident()
        return any(watch.sees(me) for watch in self._watches)

    def _user_scope(self, sink: Sink, name: str, begins: bool) -> None:
        """A scope that the user named begins or ends on this thread; of several watches that hear it, one says so."""
        first = next(iter(self._seeing()), None)
        if first is None or first.sink is not sink or self._tables is None or self._scopes is None:
            return
        if begins:
            self._scopes.enter_named(name, self._tables.here(), self._thread.stack)
        else:
            self._scopes.leave_named(name, self._tables.here(), self._thread.stack)

    # -- what PyTorch calls
    def _module_begins(self, module: Any, args: Any) -> None:
        here = self._thread
        if here.paused or here.inside.optimizer:
            self._pause.end()  # of a step that raised, or whose closure this is in
        mode, scopes = here.mode, self._scopes
        if mode is not None and scopes is not None and not is_traced():
            scopes.enter(module, mode.marks, here.stack, mode)

    def _module_ended(self, module: Any, args: Any, output: Any) -> None:
        here = self._thread
        mode, scopes, stack = here.mode, self._scopes, here.stack
        if stack and mode is not None and scopes is not None and not is_traced():
            scopes.leave(module, mode.marks, stack)

    def _wrap_backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make the gateway of all backward runs report each run before and after."""

        def _engine_run_backward(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if is_traced() or not self._is_watched():
                return original(t_outputs, *args, **kwargs)
            frame = user_frame(sys._getframe(1))
            writers = self._backward_begins(Asked(t_outputs, args, kwargs), frame)
            error: BaseException | None = None
            given: Any = None
            try:
                given = original(t_outputs, *args, **kwargs)
                return given
            except BaseException as raised:
                error = raised
                raise
            finally:
                self._backward_ended(writers, error, frame)
                for writer in writers:
                    unseen(writer.returned, given, frame)
                given = error = frame = None

        return _engine_run_backward

    def _wrap_has_hooks(self, original: Callable[[], Any]) -> Callable[[], Any]:
        """Answer for the program's own hooks only: torch.compile warns when there are global hooks."""
        module: Any = sys.modules["torch.nn.modules.module"]

        def _has_any_global_hook() -> Any:
            ours = {handle.id for handle in self._handles}
            backward = module._global_backward_pre_hooks or module._global_backward_hooks
            forward = {**module._global_forward_pre_hooks, **module._global_forward_hooks}
            return bool(backward) or any(key not in ours for key in forward)

        return _has_any_global_hook

    def _wrap_bootstrap(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        """Let threads that start later be watched from their first line to their last."""

        def _bootstrap_inner(thread: Any) -> None:
            if not self._is_watched():
                return original(thread)
            self._join_thread()
            try:
                return original(thread)
            finally:
                self._leave_thread()  # PyTorch cannot free a mode on a thread that is gone

        return _bootstrap_inner

    # -- reporting
    def _backward_begins(self, asked: Asked, frame: FrameType | None) -> list[RunWriter]:
        """A run begins: report it, and listen to what is called during it."""
        here, tables = self._thread, self._tables
        if tables is None:
            return []
        self._pause.end()
        marks = tables.here()
        if here.stack and self._scopes is not None:
            self._scopes.forget_stale(frame, marks, here.stack)
        marks.gap(sys.modules["torch"].autograd._get_sequence_nr(), marks.line)
        nested = bool(here.outer)
        writers = [RunWriter(watch, asked, marks, nested=nested) for watch in self._seeing()]
        with collector_paused():  # also until what was looked at is gone again
            for writer in writers:
                unseen(writer.begin, frame)
        listening = here.mode is not None and bool(here.mode.listeners) and put_on(here.mode)
        here.outer.append((here.inside.run, listening))
        here.inside.run = writers[-1].number if writers else None
        return writers

    def _backward_ended(self, writers: list[RunWriter], error: BaseException | None, frame: FrameType | None) -> None:
        """A run is over: go back to what was in force around it, and report it."""
        here = self._thread
        if not here.outer:
            return
        here.inside.run, listening = here.outer.pop()
        if listening:
            take_off(here.mode)
        if self._tables is not None:
            # Made by the run itself: create_graph, checkpoints.
            self._tables.here().gap(sys.modules["torch"].autograd._get_sequence_nr(), frame)
        with collector_paused():
            for writer in writers:
                unseen(writer.end, error, frame)

    def _seeing(self) -> list[_Watch]:
        me = threading.get_ident()
        return [watch for watch in self._watches if watch.sees(me)]

    def _seeing_all(self) -> list[_Watch]:
        return [watch for watch in self._seeing() if watch.forward is not None and watch.forward.listens()]

    def _seeing_more(self) -> list[_Watch]:
        return [watch for watch in self._seeing() if watch.level != "graph"]


WATCHER = Watcher()
