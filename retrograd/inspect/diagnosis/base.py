"""What a check is: a family of kinds, each with its meaning, and a function from the flow of a run to cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from ..findings import Finding, Mark, Severity
from ..program.places import SourceLine
from .facts.flow import Flow


class Stage(IntEnum):
    """How near to the root of the trouble a kind is; of two findings the one with the lower stage stands first."""

    STATEMENT = 0
    """One statement is wrong by itself: a write in place, a cut, a hook, a rule of a custom Function."""
    OMISSION = 1
    """Something was left out: a ``zero_grad``, a ``detach``, a ``create_graph``."""
    STRUCTURE = 2
    """The graph lacks what the program means to train."""
    VALUES = 3
    """Numbers went wrong, which any of the above may have caused."""
    COST = 4
    """Right, but slow or large."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding: what it means, how grave it is, and how near to the cause."""

    meaning: str
    severity: Severity
    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a check has found, before it is ordered among the others and becomes a ``Finding``."""

    kind: str
    message: str
    """One sentence with the names of variables and operators and the line of the cause."""
    remedy: str = ""
    """What to write instead, as code where possible."""
    source: SourceLine | None = None
    """The line of the cause."""
    op: str = ""
    subjects: frozenset[int] = frozenset()
    """Tensors whose trouble this explains; a later case about nothing but these is dropped."""
    severity: Severity | None = None
    """Less than the kind's where something is only likely."""
    explains_error: bool = False
    """It is the reason for the exception that ended the program."""
    because: tuple[str, ...] = ()
    """What speaks for it: short sentences with the values."""
    against: str = ""
    """What speaks against it and weighs more, so that it is not reported; ``--explain`` shows it."""
    marks: tuple[Mark, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """One family of kinds.  A module of this package that has one as ``CHECK`` takes part in every diagnosis."""

    family: str
    kinds: Mapping[str, Kind]
    find: Callable[[Flow], Iterable[Case]]


def finding_of(case: Case, kind: Kind) -> Finding:
    """Return a case as it is shown to the user."""
    return Finding(
        kind=case.kind,
        message=case.message,
        remedy=case.remedy,
        severity=case.severity or kind.severity,
        file=case.source.file if case.source else "",
        line=case.source.line if case.source else 0,
        op=case.op,
        nodes=tuple(dict.fromkeys(f"n{mark.node}" for mark in case.marks)),
        marks=case.marks,
        evidence={"because": list(case.because), **case.evidence} if case.because else dict(case.evidence),
    )
