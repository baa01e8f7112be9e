"""Caches what all calls of a function from one place of the user's program have in common."""

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
    """One function, called at one instruction of the user with tensors at the same places."""

    number: int
    """Its place among the sites of the recording, by which notes name it."""
    code: CodeType | None
    """Kept, so that its id stays its own."""
    rule: Rule
    """Kept for the same reason."""
    line: SourceLine | None
    spelling: Spelling
    """How the line spells the call; of a call that a library made for it, it says nothing."""
    texts: tuple[str, ...] | None
    """How it spells the tensors that go in, None where that is to be looked up for each call."""
    target: list[str]
    """What it assigns a result alone to."""
    nested: bool
    """Whether the line is inside a function, so that its caller is worth knowing."""
    written: str
    """What the program calls the function."""
    harmless: bool
    """Whether calls from here change nothing that is known of tensors, unless they write to one."""
    usual: bool
    """Whether there is nothing to tell of them beyond that, unless they write, fail or lose a gradient."""
    others: tuple[Any, ...] = ()
    """What else the latest call was given that was all plain, and what was said of it."""
    said: dict[str, Any] | None = None
    kept: BoundedDict[Any, Kept] = field(default_factory=lambda: BoundedDict(200))
    """What nodes of calls from here keep, as ``saves_of`` remembers it: sizes of sequences may go on changing."""

    @property
    def other_name(self) -> str:
        """What the program calls the operator, if that is another name."""
        return "" if self.written == self.rule.op else self.written

    def is_as_before(self, call: Call) -> bool:
        """Whether what a call is given beside tensors is what the call before was given."""
        others, known = call.others, self.others
        return len(others) == len(known) and (all(map(is_, others, known)) or all(map(_is_alike, others, known)))

    def arguments(self, call: Call) -> dict[str, Any] | None:
        """Return what is said of these, of a call that is given others."""
        said = arguments_of(call) or None
        if all(map(_is_lasting, call.others)):
            self.others, self.said = tuple(call.others), said
            self.kept.clear()
        return said

    def names(self, call: Call) -> tuple[str, ...]:
        """Return how the line spells the tensors that go into a call."""
        return tuple(spelled(call, self.spelling)) if self.texts is None else self.texts


class Sites:
    """The places that one recording has seen."""

    def __init__(self, mention: Callable[[SourceLine | None], None]) -> None:
        """``mention`` is called with each line."""
        self._mention = mention
        self._known: BoundedDict[tuple[Any, ...], Site] = BoundedDict(50_000)
        self.all: list[Site] = []
        """By number; those of events that nobody has read are needed, however many there were since."""

    def at(self, call: Call) -> Site:
        """Return the place of a call."""
        frame = call.frame
        code = None if frame is None else frame.f_code
        key = (*place_key(frame), id(call.rule), call.direct, call.form)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._look_at(call, code)
            self.all.append(known)
        return known

    def _look_at(self, call: Call, code: CodeType | None) -> Site:
        """Find out what all calls from this place have in common."""
        line, spelling = source_line(call.frame), spelling_at(call.frame)
        if not (call.direct or forms_match(call.rule.op, spelling.form)):
            spelling = UNKNOWN
        self._mention(line)
        return Site(
            number=len(self.all),
            code=code,
            rule=call.rule,
            line=line,
            spelling=spelling,
            texts=None if depends_on_values(call, spelling) else tuple(spelled(call, spelling)),
            target=assigned(spelling, 1),
            nested=line is not None and line.function != "<module>",
            written=spelling.compares if spelling.turns(call.rule.op) else _written(call, spelling.form),
            harmless=call.rule.kind == "operation" and "numpy" not in call.rule.op,
            usual=_is_usual(call),
        )


def _written(call: Call, form: str) -> str:
    """Return what a line calls a function: ``float`` also for ``float(x)``, which asks ``x.__float__()``."""
    matches = forms_match(call.rule.op, form) or forms_match(call.rule.op, f"__{form}__")
    return form if matches else call.rule.written


def _is_usual(call: Call) -> bool:
    """Whether nothing else is to be looked for in calls like this: repeated places, dropout, memory without values."""
    unusual = (Trait.DROPOUT, Trait.ALLOCATING, Trait.CREATION)
    return (
        call.rule.kind == "operation"
        and call.rule.op not in INDEXED_WRITES
        and "dropout_p" not in call.kwargs
        and not any(map(call.rule.operator.is_a, unusual))
    )


def _is_alike(value: Any, known: Any) -> bool:
    """Whether an argument is another one, or an equal number or tuple: each layer may have a tuple of its own."""
    if value is known:
        return True
    if type(value) is not type(known):
        return False
    if isinstance(known, tuple):
        return len(value) == len(known) and all(map(_is_alike, value, known))
    return type(known) is int and bool(value == known)


def _is_lasting(value: Any) -> bool:
    """Whether an argument holds nothing of the program, and is the same as long as it is the same object."""
    kind = type(value)
    return (
        kind in _LASTING
        or kind.__name__ in _NAMED
        or (issubclass(kind, tuple) and all(type(entry) in _LASTING for entry in value))
    )
