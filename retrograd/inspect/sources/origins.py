"""Lines, scopes and calls of nodes by sequence number, without touching a node or keeping a graph alive.

Each thread numbers the nodes it makes in increasing order. An observer of an operation reads the counter before and
after it and stores the range with the user's line, the scope and the call; later the number of a node leads back to
them.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..graphs.graph import IN_PLACE, Cut
from ..operators import canonical, traits_of
from ..program.frames import is_users, place_key, source_line
from ..program.places import SourceLine
from ..program.spelling import spelling_in
from .severed import SeveredTensors, Taken

_KEEP = 1_000_000
"""Ranges kept per thread; when there are more than ``MOST_RANGES``, the older half goes."""
MOST_RANGES = 2 * _KEEP
_MAX_TABLES = 64
"""Threads remembered; the oldest goes first."""


class Origin(NamedTuple):
    """Where a node comes from."""

    line: SourceLine | None = None
    scope: str = ""
    call: str = ""
    """The called function; only the last node of a call has its name."""


_UNKNOWN = Origin()


class Settled:
    """A frame of the user that all calls are attributed to until it continues, with cached facts."""

    __slots__ = ("frame", "stack")

    def __init__(self, frame: FrameType | None) -> None:
        self.frame = frame
        self.stack: list[Any] | None = None
        """The user's frames that led here, filled on first use."""


class Marks:
    """The ranges of one thread: numbers from ``starts[i]`` up to the next start have entry ``entries[i]``."""

    __slots__ = (
        "_codes",
        "_places",
        "_texts",
        "begin",
        "end",
        "entries",
        "first",
        "line",
        "muted",
        "scope",
        "settled",
        "severed",
        "starts",
        "word",
    )

    def __init__(self, counter: int = 0) -> None:
        self.starts: list[int] = []
        self.entries: list[int] = []
        self.begin = counter
        """Number of the first node made under watch, which recordings count from."""
        self.first = counter
        """First number that a range covers."""
        self.end = counter
        """First number that no range covers yet."""
        self.scope = ""
        """Scope in force."""
        self.line: FrameType | None = None
        """The frame to which unobserved nodes are attributed; set only while that frame is running."""
        self.settled: Settled | None = None
        """What all calls are attributed to, while no user's code runs inside ``line``."""
        self.word = ""
        """The class of the library's module that is running, if it calls only functions of the library."""
        self.muted = False
        """Whether the running module was called with gradients off: then its results have none, whatever it calls."""
        self.severed: dict[int, Taken] = {}
        """Number of a call's last node -> operands without a gradient that could have had one."""
        self._places: dict[tuple[object, ...], int] = {}
        self._texts: list[Origin] = [_UNKNOWN]
        self._codes: list[tuple[CodeType, int] | None] = [None]
        """For each entry the code object and instruction; they are kept alive so that their ids stay unique."""

    def note(self, before: int, after: int, frame: FrameType | None, call: str = "", *, in_place: bool = False) -> None:
        """Note that nodes ``before`` to ``after - 1`` were made by a call at the current line of this user frame."""
        if before == self.end and frame is not None and not in_place:
            code, place, scope, known = id(frame.f_code), frame.f_lasti, self.scope, self._places.get
            last = known((code, place, scope, self.word or call))
            first = last if after == before + 1 else known((code, place, scope, ""))
            if first is not None and last is not None:  # as ``gap``, for a line of the user's that was met before
                if not self.entries or self.entries[-1] != first:
                    self._push(before, first)
                if first != last:
                    self._push(after - 1, last)
                self.end = after
                return
        elif before < self.end:
            before = self.end
        elif before > self.end:
            self.gap(before, self.line)
        self.gap(after, frame, call, in_place=in_place)

    def follow(self, frame: FrameType, call: str = "") -> None:
        """Note that the node with the next number was made by the current line of this user frame."""
        call = self.word or call
        known = self._places.get((id(frame.f_code), frame.f_lasti, self.scope, call))
        self._push(self.end, known or self._place(frame, call))
        self.end += 1

    def gap(self, upto: int, frame: FrameType | None, call: str = "", *, in_place: bool = False) -> None:
        """Attribute nodes before ``upto`` whose creation nobody observed."""
        end, call = self.end, self.word or call
        if upto <= end:
            return
        if in_place and call and not call.endswith("_"):
            call += IN_PLACE
        if upto > end + 1 and call:
            self._push(end, self._place(frame, ""))
            end = upto - 1
        self._push(end, self._place(frame, call))
        self.end = upto

    def find(self, number: int) -> Origin:
        """Return the origin of a node, None if it was not made on this thread while watched."""
        if self.first <= number < self.end:
            return self._texts[self.entries[bisect_right(self.starts, number) - 1]]
        return _UNKNOWN

    def targets(self, number: int) -> tuple[str, ...]:
        """Return the names to which the program directly assigns the results of the call that made a node."""
        if not self.first <= number < self.end:
            return ()
        entry = self.entries[bisect_right(self.starts, number) - 1]
        place, call = self._codes[entry], self._texts[entry].call
        if place is None or not call or not is_users(place[0]):
            return ()
        spelling = spelling_in(*place)
        # A layer or function of a library may have made the node on its way to the results that the line takes.
        own = canonical(spelling.form) == canonical(call) or traits_of(spelling.form) == traits_of(call) != frozenset()
        return spelling.targets if own else ()

    def find_all(self, numbers: list[int | None]) -> list[Origin]:
        """Return the origin of each node."""
        first, end, starts, entries, texts = self.first, self.end, self.starts, self.entries, self._texts
        return [
            texts[entries[bisect_right(starts, n) - 1]] if n is not None and first <= n < end else _UNKNOWN
            for n in numbers
        ]

    def pattern(self, first: int, last: int) -> tuple[Any, ...] | None:
        """Return a key of the lines and scopes of a range of numbers, relative to the first."""
        if not self.first <= first <= last < self.end:
            return None
        begin, end = bisect_right(self.starts, first), bisect_right(self.starts, last)
        return self._texts, self.entries[begin - 1 : end], [start - first for start in self.starts[begin:end]]

    def _push(self, start: int, entry: int) -> None:
        if self.entries and self.entries[-1] == entry:
            return
        self.starts.append(start)
        self.entries.append(entry)
        if len(self.entries) > MOST_RANGES:
            self.drop_older_half()

    def drop_older_half(self) -> None:
        """Drop the entries of the older nodes."""
        del self.starts[:_KEEP], self.entries[:_KEEP]
        self.first = self.starts[0]
        self.severed = {number: found for number, found in self.severed.items() if number >= self.first}

    def _place(self, frame: FrameType | None, call: str) -> int:
        """Return the entry for a call from a frame's current line under the scope in force."""
        if frame is not None:  # as ``place_key`` has it for a line of the user's
            known = self._places.get((id(frame.f_code), frame.f_lasti, self.scope, call))
            if known is not None:
                return known
        key = (*place_key(frame), self.scope, call)
        entry = self._places.get(key)
        if entry is None:
            entry = self._places[key] = len(self._texts)
            self._texts.append(Origin(source_line(frame), self.scope, call))
            self._codes.append(None if frame is None else (frame.f_code, frame.f_lasti))
        return entry


class _Local(threading.local):
    marks: Marks | None = None


class OriginTables:
    """The marks of all watched threads."""

    def __init__(self) -> None:
        self.local = _Local()
        """Holds the marks of the current thread, if there are any."""
        self.classes: dict[str, str] = {}
        """Path of a module that has run -> its class."""
        self.severed = SeveredTensors()
        """The tensors whose values have left the graph."""
        self._all: list[Marks] = []

    def here(self, counter: int = 0) -> Marks:
        """Return the current thread's marks; ``counter`` is the first number of new ones."""
        marks = self.local.marks
        if marks is None:
            marks = self.local.marks = Marks(counter)
            self._all.append(marks)  # in place: of two new lists by two threads one would be lost
            del self._all[:-_MAX_TABLES]
        return marks

    def find(self, numbers: list[int | None]) -> tuple[list[SourceLine | None], list[str], list[str]]:
        """Return line, scope and call for each number, None and "" where unknown.

        Threads number their nodes independently in PyTorch: if several threads know a line for a number, the current
        thread's is returned.
        """
        mine = self.local.marks
        known = tuple(self._all)
        if len(known) == 1:
            found = known[0].find_all(numbers)
        else:
            tables = sorted(known, key=lambda marks: marks is not mine)
            found = [_UNKNOWN if number is None else _first_known(tables, number) for number in numbers]
        return [origin.line for origin in found], [origin.scope for origin in found], [one.call for one in found]

    def targets(self, number: int) -> tuple[str, ...]:
        """Return the names to which the program assigns the results of a node's call, none if unknown."""
        mine = self.local.marks
        tables = sorted(self._all, key=lambda marks: marks is not mine)
        return next(filter(None, (marks.targets(number) for marks in tables)), ())

    @property
    def may_cut(self) -> bool:
        """Whether values may have entered a graph without their gradients."""
        return any(marks.severed for marks in self._all)

    def cuts(self, numbers: list[int | None]) -> list[Cut]:
        """Return where values entered a graph without gradients; ``numbers`` are the sequence numbers of its nodes."""
        known = [marks for marks in self._all if marks.severed]
        if not known:
            return []
        mine = self.local.marks
        marks = mine if mine in known else known[0]
        rows = {number: row for row, number in enumerate(numbers) if number is not None}
        oldest = min(rows, default=0)
        found: dict[tuple[int, str, SourceLine | None], Cut] = {}
        for last in reversed(marks.severed):
            if last < oldest:
                break
            first, causes = marks.severed[last]
            node = next((rows[number] for number in range(last, first - 1, -1) if number in rows), -1)
            for one in causes if node >= 0 else ():
                origin = rows.get(one.number, -1)
                if not (one.gated and origin >= 0):
                    found.setdefault((node, one.word, one.line), Cut(node, one.word, one.line, origin))
        return list(found.values())

    def pattern(self, first: int, last: int) -> Any:
        """Return a key that is equal for ranges with equal lines and scopes; None if several threads number nodes."""
        return self._all[0].pattern(first, last) if len(self._all) == 1 else None


def _first_known(tables: list[Marks], number: int) -> Origin:
    """Return the first table's entry with a line, else any with a scope."""
    best = _UNKNOWN
    for marks in tables:
        known = marks.find(number)
        if known.line is not None:
            return known
        if known.scope and not best.scope:
            best = known
    return best
