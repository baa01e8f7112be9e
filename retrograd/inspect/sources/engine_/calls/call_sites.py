"""Caches what all calls of an operator from one place of the user's program have in common."""

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
    """Kept, so that its id stays its own."""
    line: SourceLine | None
    row: str
    """What PyTorch calls the operator."""
    operator: Operator
    """The operator, as events name it."""
    written: str
    """What the user's line calls it."""
    texts: tuple[str, ...] | None
    """How the line spells the tensors that go in, None where it says nothing of them."""
    targets: tuple[str, ...]
    """What it assigns the results to."""
    variables: tuple[str, ...]
    """The same, empty where that is not what a user would call a tensor."""
    may_be_flat: bool
    """Whether its slope is zero at some results."""
    may_have_pole: bool
    """Whether its slope is infinite at some arguments."""
    nested: bool
    """Whether the line is inside a function, so that its caller is worth knowing."""
    several: bool
    """Whether the user's call may take several operators."""
    ranged: bool
    """Whether the range of its result is asked for in any run: it shows which numbers were drawn, and what is flat.

    Of a relu the sum does, too: it is zero where all units are off.
    """
    may_lose: bool
    """Whether it may write to one place twice."""
    function: str
    """The public function that it was called by, empty if it was none."""
    plans: list[Any]
    """Each ``Plan`` of a call from here, for the ways on which it was reached."""
    others: tuple[tuple[Any, ...], dict[str, Any] | None] = ((), None)
    """Arguments of the latest call with plain ones among them, without its operands, and what was said of them."""

    @property
    def other_name(self) -> str:
        """What the program calls the operator, if that is another name."""
        return "" if self.written == self.operator.name else self.written


class Sites:
    """The places that one watcher has seen."""

    def __init__(self, names: Names, mention: Callable[[SourceLine | None], None]) -> None:
        """``mention`` is called with each line."""
        self._names = names
        self._mention = mention
        self._known: BoundedDict[tuple[object, ...], Site] = BoundedDict(50_000)

    def at(self, caller: Caller, op: Any) -> Site:
        """The place of a call; operators live as long as the process."""
        frame = caller.frame
        assert frame is not None
        key = (*place_key(frame), id(op), caller.function, caller.module)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._look_at(caller, op)
        return known

    def _look_at(self, caller: Caller, op: Any) -> Site:
        """Find out what all calls of an operator from this place have in common."""
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
