"""Caches what all calls of a function from one position of the user's program have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import is_
from types import CodeType
from typing import Any

from ....bounded import BoundedDict
from ....operators import Trait
from ....program.frames import place_key, source_line
from ....program.places import SourceLine
from ....program.spelling import UNKNOWN, Spelling, spelling_at
from .calls import Call
from .facts import arguments_of
from .names import assigned, depends_on_values, forms_match, spelled
from .rules import INDEXED_WRITES, Rule
from .saved import Kept

_LASTING = frozenset({int, float, bool, str, type(None)})
_NAMED = frozenset({"dtype", "device"})


@dataclass(slots=True)
class Site:
    """One function, called at one instruction of the user with tensors in the same positions."""

    number: int
    """Its number in the recording, by which notes refer to it."""
    code: CodeType | None
    """Kept alive so that its id stays unique."""
    rule: Rule
    """Kept for the same reason."""
    line: SourceLine | None
    spelling: Spelling
    """Spelling of the call in the line; empty if a library made the call."""
    texts: tuple[str, ...] | None
    """Texts of the input tensors, None if they must be determined for each call."""
    target: list[str]
    """The name that a single result is assigned to."""
    nested: bool
    """Whether the line is inside a function, so that its caller is informative."""
    written: str
    """The program's name for the function."""
    harmless: bool
    """Whether calls from here invalidate nothing that is cached about tensors, unless they write to one."""
    usual: bool
    """Whether there is nothing else to record of them, unless they write, fail or lose a gradient."""
    plain: bool
    """Whether that is so (but for ``drops``), nothing is invalidated, texts are known, and slopes are finite."""
    drops: bool
    """Whether they drop entries at random, which a module in evaluation mode should not."""
    others: tuple[Any, ...] = ()
    """Other arguments of the latest call, if all plain, and their description."""
    said: dict[str, Any] | None = None
    kept: BoundedDict[Any, Kept] = field(default_factory=lambda: BoundedDict(200))
    """Saved tensors of calls from here, as cached by ``saves_of``; bounded, since sequence lengths may
    keep changing."""

    @property
    def other_name(self) -> str:
        """Return the program's name for the operator, if it differs."""
        return "" if self.written == self.rule.op else self.written

    def is_as_before(self, call: Call) -> bool:
        """Whether the arguments besides tensors equal those of the previous call."""
        others, known = call.others, self.others
        if not others:
            return not known
        return len(others) == len(known) and (all(map(is_, others, known)) or all(map(_is_equal, others, known)))

    def arguments(self, call: Call) -> dict[str, Any] | None:
        """Return the description of other arguments."""
        said = arguments_of(call) or None
        if all(map(_is_lasting, call.others)):
            self.others, self.said = tuple(call.others), said
            self.kept.clear()
        return said

    def names(self, call: Call) -> tuple[str, ...]:
        """Return the texts of a call's input tensors in the line."""
        return tuple(spelled(call, self.spelling)) if self.texts is None else self.texts


class Sites:
    """The call sites of one recording."""

    def __init__(self, mention: Callable[[SourceLine | None], None]) -> None:
        """``mention`` is called with each line."""
        self._mention = mention
        self._known: BoundedDict[tuple[Any, ...], Site] = BoundedDict(50_000)
        self.all: list[Site] = []
        """By number; sites of events that nobody has read are needed, however many follow."""

    def at(self, call: Call) -> Site:
        """Return the site of a call."""
        frame = call.frame
        code = None if frame is None else frame.f_code
        key = (*place_key(frame), id(call.rule), call.direct, call.form)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._look_at(call, code)
            self.all.append(known)
        return known

    def _look_at(self, call: Call, code: CodeType | None) -> Site:
        """Find out what all calls from this position have in common."""
        line, spelling = source_line(call.frame), spelling_at(call.frame)
        if not (call.direct or forms_match(call.rule.op, spelling.form)):
            spelling = UNKNOWN
        self._mention(line)
        texts = None if depends_on_values(call, spelling) else tuple(spelled(call, spelling))
        harmless = call.rule.kind == "operation" and "numpy" not in call.rule.op
        usual, drops = _is_usual(call), _drops(call)
        return Site(
            number=len(self.all),
            code=code,
            rule=call.rule,
            line=line,
            spelling=spelling,
            texts=texts,
            target=assigned(spelling, 1),
            nested=line is not None and line.function != "<module>",
            written=spelling.compares if spelling.turns(call.rule.op) else _written(call, spelling.form),
            harmless=harmless,
            usual=usual and not drops,
            plain=harmless and usual and texts is not None and not call.rule.operator.poles,
            drops=drops,
        )


def _written(call: Call, form: str) -> str:
    """Return the line's name for a function: ``float`` also for ``float(x)``, which calls ``x.__float__()``."""
    matches = forms_match(call.rule.op, form) or forms_match(call.rule.op, f"__{form}__")
    return form if matches else call.rule.written


def _is_usual(call: Call) -> bool:
    """Whether nothing but dropped entries is to be looked for in a call: repeated places, memory without values."""
    unusual = (Trait.ALLOCATING, Trait.CREATION)
    known = call.rule.kind == "operation" and call.rule.op not in INDEXED_WRITES
    return known and not any(map(call.rule.operator.is_a, unusual))


def _drops(call: Call) -> bool:
    """Whether a call drops entries, or may be asked to."""
    return call.rule.operator.is_a(Trait.DROPOUT) or "dropout_p" in call.kwargs


def _is_equal(value: Any, known: Any) -> bool:
    """Whether an argument is the same object, or an equal number or tuple: each layer may have its own tuple."""
    if value is known:
        return True
    if type(value) is not type(known):
        return False
    if isinstance(known, tuple):
        return len(value) == len(known) and all(map(_is_equal, value, known))
    return type(known) is int and bool(value == known)


def _is_lasting(value: Any) -> bool:
    """Whether an argument is immutable and holds nothing of the program."""
    kind = type(value)
    return (
        kind in _LASTING
        or kind.__name__ in _NAMED
        or (issubclass(kind, tuple) and all(type(entry) in _LASTING for entry in value))
    )
