"""Caches what all calls of an operator from one position of the user's program have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ....bounded import BoundedDict
from ....operators import END, Operator, Trait, operator
from ....program.frames import place_key, source_line
from ....program.places import SourceLine
from ...call_data import worthy
from .caller import Caller, spelled
from .lost_writes import writes_by_index
from .names import Names


@dataclass(slots=True)
class Site:
    """One operator, called at one instruction of the user."""

    code: CodeType
    """Kept alive so that its id stays unique."""
    line: SourceLine | None
    row: str
    """PyTorch's name of the operator."""
    operator: Operator
    """The operator, as events name it."""
    written: str
    """The operator's name in the user's line."""
    texts: tuple[str, ...] | None
    """Texts of the input tensors in the line, None if it has none."""
    targets: tuple[str, ...]
    """The names that the line assigns the results to."""
    variables: tuple[str, ...]
    """The same, empty if a user would not call a tensor so."""
    may_be_flat: bool
    """Whether its slope can be zero."""
    may_have_pole: bool
    """Whether its slope can be infinite."""
    nested: bool
    """Whether the line is inside a function, so that its caller is informative."""
    several: bool
    """Whether the user's call may run several operators."""
    ranged: bool
    """Whether the range of its result is recorded in every pass: it shows drawn numbers, and flat results.

    For a relu the sum suffices: it is zero if all units are inactive.
    """
    may_lose: bool
    """Whether it may write to one element twice."""
    function: str
    """The public function that called it, empty if there is none."""
    plans: list[Any]
    """A ``Plan`` for each path by which the position was reached."""
    others: tuple[tuple[Any, ...], dict[str, Any] | None] = ((), None)
    """Arguments of the latest call with plain ones among them, without operands, and their description."""

    @property
    def other_name(self) -> str:
        """Return the program's name of the operator, if it differs."""
        return "" if self.written == self.operator.name else self.written


class Sites:
    """The call sites that one watcher has seen."""

    def __init__(self, names: Names, mention: Callable[[SourceLine | None], None]) -> None:
        """``mention`` is called with each line."""
        self._names = names
        self._mention = mention
        self._known: BoundedDict[tuple[object, ...], Site] = BoundedDict(50_000)

    def at(self, caller: Caller, op: Any) -> Site:
        """Return the site of a call; operators are never freed."""
        frame = caller.frame
        assert frame is not None
        key = (*place_key(frame), id(op), caller.function, caller.module)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._look_at(caller, op)
        return known

    def _look_at(self, caller: Caller, op: Any) -> Site:
        """Find out what all calls of an operator from this position have in common."""
        frame, names, row = caller.frame, self._names, spelled(op.name)
        assert frame is not None
        line = source_line(frame)
        self._mention(line)
        name, targets = names.cast(caller, op.name) or caller.function or row, tuple(names.targets(caller))
        does = operator(name)
        texts = names.texts(caller, does.name)
        return Site(
            code=frame.f_code,
            line=line,
            row=row,
            operator=does,
            written=names.written(caller, does.name) or name,
            texts=None if texts is None else tuple(texts),
            targets=targets,
            variables=tuple(map(worthy, targets)),
            may_be_flat=does.flat is not None,
            may_have_pole=bool(operator(row).poles),
            nested=line is not None and line.function != "<module>",
            several=row != name,
            ranged=(does.flat is not None and does.flat[1] < END) or does.is_a(Trait.RANDOM),
            may_lose=writes_by_index(op),
            function=caller.function,
            plans=[],
        )
