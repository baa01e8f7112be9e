"""Records the user's source line for every node created while a program is watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .....engine import observe
from .....engine.switches.state import peek_number
from .....interpreter import getframe
from .....locks import lock
from ....program.frames import forget_judgements, user_frame
from ...base import Node
from ...naming import NameMemory
from ...origins import MOST_RANGES, OriginTables
from ..calls.call_plans import Plan, applying
from ..calls.caller import caller_of, forget_callers, spelled


class Lines:
    """Notes where nodes come from while a program is watched."""

    hears_updates = False

    def __init__(self) -> None:
        self.tables: OriginTables | None = None
        self.memory: NameMemory | None = None
        self.modules: Callable[[], list[tuple[str, Any]]] = list
        """Returns the outermost modules that were called, with their names."""
        self._begin = 0
        """Number of the first node made while watching."""
        self._watching = 0
        self._lock = lock()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Note lines until the block ends; they are dropped with the last watcher."""
        with self._lock:
            self._watching += 1
            if self._watching == 1:
                self.tables, self.memory, self._begin = OriginTables(), NameMemory(), peek_number()
                observe.add(self)
        try:
            yield
        finally:
            with self._lock:
                self._watching -= 1
                if not self._watching:
                    observe.remove(self)
                    self.tables = self.memory = None
                    self.modules = list
                    forget_judgements()
                    forget_callers()

    def follow(self, node: Node | None, user: FrameType | None, calling: FrameType | None, call: str) -> None:
        """Note the user's line of a new node, made by an operator that the public function ``call`` called.

        Without ``user`` (in a ``forward``) only earlier nodes are noted; ``calling`` is the engine's frame.
        """
        tables = self.tables
        if tables is None:
            return
        marks = tables.local.marks or tables.here(self._begin)
        number = peek_number() if node is None else node._number
        if number > marks.end:
            marks.gap(number, applying(calling))
        if node is not None:
            if number == marks.end and user is not None:
                marks.follow(user, call)
            else:
                marks.note(number, number + 1, user, call)

    def follow_planned(self, node: Node | None, plan: Plan, user: FrameType, calling: FrameType) -> None:
        """Do the same for a predicted call, whose position is looked up only once."""
        tables = self.tables
        marks = None if tables is None else tables.local.marks
        if marks is None or node is None or node._number < marks.end:
            self.follow(node, user, calling, plan.site.function or plan.site.row)
            return
        number = node._number
        if number > marks.end:  # an optimizer's writes have taken numbers; to look for a ``forward`` takes 10 µs
            marks.gap(number, None if plan.outside else applying(calling))
        noted, scope, entry = plan.noted
        if marks is not noted or marks.scope != scope:
            marks.follow(user, plan.site.function or plan.site.row)
            plan.noted = (marks, marks.scope, marks.entries[-1])
            return
        entries = marks.entries
        if entries[-1] != entry:  # as ``Marks.follow`` does, by a call that takes as long as the rest
            marks.starts.append(number)
            entries.append(entry)
            if len(entries) > MOST_RANGES:
                marks.drop_older_half()
        marks.end = number + 1

    def inplace(self, op: Any, args: Any, node: Node | None, tensor: Any, inputs: Any) -> None:
        """Note the user's line of the nodes made by an in-place write."""
        if self.tables is not None and node is not None:
            marks, caller = self.tables.here(self._begin), caller_of(getframe(1))
            call = caller.function or f"{spelled(op.name)}_"
            marks.note(marks.end, peek_number(), user_frame(getframe(1)), call, in_place=True)

    def backward_began(self, roots: list[tuple[Node, int]]) -> None:
        """Assign nodes made from now on to the pass."""
        if self.tables is not None:
            self.tables.here(self._begin).gap(peek_number(), None)

    def backward_ended(self, error: BaseException | None) -> None:
        """Note the line of the pass for the nodes it made: the graph of the gradients."""
        if self.tables is not None:
            marks, number = self.tables.here(self._begin), peek_number()
            if number > marks.end:
                marks.gap(number, user_frame(getframe(1)))

    def enter(self, scope: str, word: str = "") -> None:
        """Assign nodes made on this thread from now on to a module; ``word`` is the class of a layer of ours."""
        if self.tables is not None:
            marks = self.tables.here(self._begin)
            marks.gap(peek_number(), marks.line)
            marks.scope, marks.word = scope, word

    def module(self, scope: str, name: str) -> None:
        """Note that a module of this class runs in a scope."""
        if self.tables is not None:
            self.tables.classes[scope] = name


LINES = Lines()


class Follower:
    """Observes calls for ``LINES`` if no other observer does."""

    def operation(self, op: Any, args: Any, node: Node | None, inputs: Any, outputs: Any, took: int) -> None:
        """Note the call of an operator."""
        frame = getframe(2)  # skips this frame and the caller
        if node is None:
            LINES.follow(node, None, frame, "")
            return
        caller = caller_of(frame)
        LINES.follow(node, caller.frame, frame, caller.function or spelled(op.name))

    def close(self) -> None:
        """Do nothing."""
