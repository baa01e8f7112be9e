"""Installs all patches and hooks in PyTorch at once, and removes them at once.

They are a ``TorchFunctionMode`` on each watched thread, global module and optimizer hooks, and wrappers: of
``_engine_run_backward``, of functions that show warnings and format the stacks of anomaly mode, of constructors, and
(to reach threads that start later) of the thread bootstrap.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .....interpreter import BEGINS_THREADS, SHOWS_WARNINGS, getframe
from ....garbage import collector_paused
from ....program.frames import user_frame
from ...base import Sink
from ...named_scopes import FOLLOWERS
from ...naming import NameMemory
from ...origins import OriginTables
from ...patches import Patches
from ..backward.node_hooks import install_entering
from ..backward.runs import RunWriter, asked_of, refused
from ..calls.calls import Inside, is_traced
from ..calls.forward import ForwardWriter
from ..library import LIBRARY
from ..objects.collectives import Collectives
from ..objects.functions import Checkpoints, Functions, applied_in_c
from ..objects.hooks import Handles
from ..objects.memory_writes import MemoryWrites, Swaps
from ..objects.modes import Autocasts, FunctionalCalls, InferenceMode
from ..objects.owners import Owners, Parameters
from ..objects.training_calls import Clipping, TrainingCalls
from ..objects.warnings_ import wrap_format, wrap_show
from ..objects.wrappers import Compilation, Wrappers
from ..own_work import own_work
from ..private import private
from ..problems import note_problem, safely, unseen
from .mode import put_on, take_off
from .own_numbers import own_numbers, program_has_global_hooks
from .scopes import Scopes
from .watched_threads import WatchedThreads
from .watches import Lasting, Watches


class BackwardCalls:
    """Wraps ``_engine_run_backward`` while recording."""

    def __init__(self, watches: Watches, threads: WatchedThreads, tables: OriginTables, scopes: Scopes) -> None:
        self._watches, self._thread, self._tables = watches, threads.here, tables
        self._pause, self._scopes = threads.pause, scopes

    def wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make PyTorch's function report each pass; its results and exceptions are unchanged."""

        def _engine_run_backward(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if is_traced() or not self._watches.any_sees():
                return original(t_outputs, *args, **kwargs)
            frame = user_frame(getframe(1))
            writers = safely(self._begin, t_outputs, args, kwargs, frame)
            error: BaseException | None = None
            given: Any = None
            try:
                given = original(t_outputs, *args, **kwargs)
                return given
            except BaseException as raised:
                error = raised
                raise
            finally:
                if writers is not None:
                    safely(self._end, writers, error, frame)
                    for writer in writers:
                        unseen(writer.returned, given, frame)
                given = error = frame = None

        return _engine_run_backward

    def wrap_gradients(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make the function that prepares initial gradients report passes that it rejects."""

        def _make_grads(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(outputs, *args, **kwargs)
            except Exception as error:
                if not is_traced() and self._watches.any_sees():
                    unseen(self._refused, outputs, getframe(2), error)  # below the wrapper that patches put here
                raise

        return _make_grads

    def _refused(self, outputs: Any, caller: FrameType, error: BaseException) -> None:
        """Report a pass that PyTorch rejected before calling its engine."""
        api, frame = "backward" if caller.f_code.co_name == "backward" else "grad", user_frame(caller)
        for watch in self._watches.seeing():
            refused(watch, outputs, api, error, frame)

    def _begin(self, roots: Any, args: Any, kwargs: Any, frame: FrameType | None) -> list[RunWriter]:
        """Report a pass that begins, and observe calls during it."""
        here = self._thread
        with own_work():
            asked = asked_of(roots, args, kwargs)
        self._pause.end()
        marks = self._tables.here()
        if here.stack:
            self._scopes.forget_stale(frame, marks, here.stack)
        marks.gap(private().sequence_number(), marks.line)
        nested = bool(here.outer)
        writers = [RunWriter(watch, roots, asked, marks, nested=nested) for watch in self._watches.seeing()]
        with collector_paused():  # also until what was read is freed again
            for writer in writers:
                unseen(writer.begin, frame)
                if writer.watch.level == "full":
                    unseen(writer.watch.strays.run_begins, self._scopes.modules)
        listening = here.mode is not None and bool(here.mode.listeners) and put_on(here.mode)
        here.outer.append((here.inside.run, listening))
        here.inside.run = writers[-1].number if writers else None
        return writers

    def _end(self, writers: list[RunWriter], error: BaseException | None, frame: FrameType | None) -> None:
        """Restore the state around a pass that is over, and report it."""
        here = self._thread
        here.inside.run, listening = here.outer.pop()
        if listening:
            take_off(here.mode)
        # Made by the run itself: create_graph, checkpoints.
        self._tables.here().gap(private().sequence_number(), frame)
        with collector_paused():
            for writer in writers:
                unseen(writer.end, error, frame)


class EnteredScopes:
    """The hooks on all modules, installed while recording."""

    def __init__(self, watches: Watches, threads: WatchedThreads, tables: OriginTables, scopes: Scopes) -> None:
        self._watches, self._thread, self._tables = watches, threads.here, tables
        self._pause, self._scopes = threads.pause, scopes
        self._compiling, self._tracing = private().is_compiling, private().tracing_state
        """The checks of ``is_traced``, made for each module."""

    def install(self, module: Any) -> list[Any]:
        """Register the hooks and return their handles; ``module`` is ``torch.nn.modules.module``."""
        FOLLOWERS.append(self._user_scope)
        return [
            module.register_module_forward_pre_hook(self._module_begins),
            module.register_module_forward_hook(self._module_ended, always_call=True),
        ]

    def uninstall(self) -> None:
        """Stop following the user's scopes."""
        if self._user_scope in FOLLOWERS:
            FOLLOWERS.remove(self._user_scope)

    def _module_begins(self, module: Any, args: Any) -> None:
        if self._compiling():  # before all else: what is read here becomes a condition of the compiled code
            return
        here = self._thread
        try:
            if here.paused or here.inside.optimizer:
                self._pause.end()  # of a step that raised, or whose closure this is in
            if here.mode is not None and self._tracing() is None:
                self._scopes.enter(module, here.mode.marks, here.stack, here.mode)
        except Exception as problem:
            note_problem(problem)

    def _module_ended(self, module: Any, args: Any, output: Any) -> None:
        if self._compiling():
            return
        here = self._thread
        try:
            if here.stack and here.mode is not None and self._tracing() is None:
                marks = here.mode.marks
                if marks.muted and not here.stack[-1].was_muted:
                    here.mode.severing.passed(module, args, output, marks)
                self._scopes.leave(module, marks, here.stack, args, output)
        except Exception as problem:
            note_problem(problem)

    def _user_scope(self, sink: Sink, name: str, begins: bool) -> None:
        """Handle a named scope that begins or ends on this thread; only one of several watches does."""
        first = next(iter(self._watches.seeing()), None)
        if first is None or first.sink is not sink:
            return
        change = self._scopes.enter_named if begins else self._scopes.leave_named
        change(name, self._tables.here(), self._thread.stack)


class Installation:
    """Made when the first watch begins (or PyTorch is imported), undone when the last one ends."""

    def __init__(self, watches: Watches, threads: WatchedThreads, lasting: Lasting) -> None:
        self._watches, self._threads, self._lasting = watches, threads, lasting
        self.tables = OriginTables()
        """Origins of nodes."""
        self.memory = NameMemory()
        """Names found under the current watches."""
        self._owners = Owners(watches.seeing, threads.pause)
        self.scopes = Scopes(self._owners.module, self.tables.classes)
        self._entered = EnteredScopes(watches, threads, self.tables, self.scopes)
        self._collectives = Collectives(watches.seeing, self._inside)
        self._wrappers = Wrappers(watches.seeing, self._collectives.about_group)
        self._compilation = Compilation(watches.seeing, self._wrappers.compiles)
        self._functions: Functions | None = None
        self._follows_backward = False
        self._checkpoints: Checkpoints | None = None
        self._patches = Patches()
        self._handles: list[Any] = []

    def install(self) -> None:
        """Install what every level of recording needs; parts that this PyTorch does not support are skipped."""
        for part in (
            self._hook_modules,
            self._wrap_backward,
            self._wrap_python,
            self._wrap_parameters,
            Handles(self._watches.seeing_calls).install,
            InferenceMode(self._watches.seeing_calls).install,
            Autocasts(self._watches.seeing_calls).install,
            FunctionalCalls(self._watches.seeing_calls).install,
            Swaps(self._watches.seeing).install,
            MemoryWrites(self._watches.seeing_calls).install,
            self._compilation.install,
            self._collectives.install,
            self._wrappers.install,
            TrainingCalls(self._watches.seeing_calls, self._owners.scheduled).install,
            self._follow_optimizers,
        ):
            safely(part, self._patches)

    def _hook_modules(self, patches: Patches) -> None:
        """Observe modules beginning and ending."""
        module = LIBRARY.torch.nn.modules.module
        patches.wrap(module, "_has_any_global_hook", lambda _: program_has_global_hooks)
        with own_numbers():
            self._handles += self._entered.install(module)

    def _wrap_backward(self, patches: Patches) -> None:
        """Wrap ``_engine_run_backward`` to observe each backward pass."""
        torch: Any = LIBRARY.torch
        backward = BackwardCalls(self._watches, self._threads, self.tables, self.scopes)
        for holder in (torch.autograd.graph, torch.autograd):
            patches.wrap(holder, "_engine_run_backward", backward.wrap)
        patches.wrap(torch.autograd, "_make_grads", backward.wrap_gradients)

    def _wrap_python(self, patches: Patches) -> None:
        """Show warnings, stacks and new threads to the program as if unwatched."""
        patches.wrap(*SHOWS_WARNINGS, wrap_show)
        patches.wrap(sys.modules.get("torch.fx.traceback"), "format_stack", wrap_format)
        patches.wrap(*BEGINS_THREADS, self._wrap_bootstrap)

    def _wrap_parameters(self, patches: Patches) -> None:
        """Observe parameters made of tensors."""
        patches.wrap(LIBRARY.torch.nn.Parameter, "__new__", Parameters(self._watches.seeing_calls).wrap_new)

    def _follow_optimizers(self, patches: Patches) -> None:
        """Observe optimizers."""
        optimizer: Any = sys.modules[LIBRARY.torch.optim.Optimizer.__module__]
        patches.wrap(optimizer.Optimizer, "__init__", self._owners.wrap_init)
        patches.wrap(optimizer.Optimizer, "zero_grad", self._owners.wrap_zero_grad)
        with own_numbers():
            self._handles.append(optimizer.register_optimizer_step_pre_hook(self._owners.step_begins))
            self._handles.append(optimizer.register_optimizer_step_post_hook(self._owners.step_ended))

    def _wrap_bootstrap(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        """Watch threads that start later, from their first line to their last."""

        def _bootstrap_inner(thread: Any) -> None:
            if not self._watches.any_sees():
                return original(thread)
            safely(self._threads.join, self.tables)
            try:
                return original(thread)
            finally:
                safely(self._threads.leave)  # PyTorch cannot free a mode on a thread that is gone

        return _bootstrap_inner

    def serve(self) -> None:
        """Install what each watch needs for its level; called for a new watch, or after one has ended."""
        deep = any(watch.level != "graph" for watch in self._watches)
        if self._functions is None and (deep or applied_in_c()):
            safely(self._follow_functions, self._patches)
        if deep and not self._follows_backward:
            self._follows_backward = True
            self._follow_backward()
        for watch in self._watches:
            if watch.level == "full" and watch.forward is None:
                watch.forward = safely(ForwardWriter, watch.sink, self._inside)
        self._threads.tune()

    def _follow_backward(self) -> None:
        """Observe custom Functions and checkpoints, from level ``backward`` on."""
        seeing = self._watches.seeing_backward
        checkpoints = self._checkpoints = Checkpoints(seeing, self._run, self._threads.count)
        parts = (checkpoints.install, Clipping(seeing, self._run).install, install_entering)
        for part in parts:
            safely(part, self._patches)

    def _follow_functions(self, patches: Patches) -> None:
        """Observe custom Functions and hooks on tensors."""
        torch: Any = LIBRARY.torch
        functions = self._functions = Functions(self._watches.seeing_backward, self.tables.here, self._inside)
        functions.install()
        patches.wrap(private().rule_node, "apply", functions.wrap_rule)
        patches.wrap(torch.Tensor, "register_hook", self._lasting.hooked.wrap_register)

    def _inside(self) -> Inside:
        return self._threads.here.inside

    def _run(self) -> int | None:
        return self._inside().run

    def undo(self) -> None:
        """Remove everything."""
        safely(self._entered.uninstall)
        safely(self._compilation.uninstall)
        safely(self._wrappers.uninstall)
        if self._functions is not None:
            safely(self._functions.uninstall)
        if self._checkpoints is not None:
            self._checkpoints.uninstall()
        self._patches.undo()
        while self._handles:
            safely(lambda handle: handle.remove(), self._handles.pop())
        self._threads.abandon()
