"""Hears modules begin and end, and the scopes that the user names, and keeps each thread's place among them."""

from __future__ import annotations

from typing import Any

from ...base import Sink
from ...named_scopes import FOLLOWERS
from ...origins import OriginTables
from ..private import private
from ..problems import note_problem
from .scopes import Scopes
from .watched_threads import WatchedThreads
from .watches import Watches


class EnteredScopes:
    """The hooks on all modules; they stand for as long as somebody watches."""

    def __init__(self, watches: Watches, threads: WatchedThreads, tables: OriginTables, scopes: Scopes) -> None:
        self._watches, self._thread, self._tables = watches, threads.here, tables
        self._pause, self._scopes = threads.pause, scopes
        self._compiling, self._tracing = private().is_compiling, private().tracing_state
        """As ``is_traced``, but for each module."""

    def install(self, module: Any) -> list[Any]:
        """Put the hooks in place and return their handles; ``module`` is ``torch.nn.modules.module``."""
        FOLLOWERS.append(self._user_scope)
        return [
            module.register_module_forward_pre_hook(self._module_begins),
            module.register_module_forward_hook(self._module_ended, always_call=True),
        ]

    def uninstall(self) -> None:
        """Hear of the user's scopes no more."""
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
                if here.mode.marks.muted and not here.stack[-1].muted:
                    here.mode.severing.passed(module, args, output, here.mode.marks)
                self._scopes.leave(module, here.mode.marks, here.stack)
        except Exception as problem:
            note_problem(problem)

    def _user_scope(self, sink: Sink, name: str, begins: bool) -> None:
        """A scope that the user named begins or ends on this thread; of several watches that hear it, one says so."""
        first = next(iter(self._watches.seeing()), None)
        if first is None or first.sink is not sink:
            return
        change = self._scopes.enter_named if begins else self._scopes.leave_named
        change(name, self._tables.here(), self._thread.stack)
