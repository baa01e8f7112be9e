"""The interface of checks: a family of kinds, each with its meaning, and a function from a flow to cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from ..findings import Finding, Mark, Severity
from ..program.places import SourceLine
from .facts.flow import Flow


class Stage(IntEnum):
    """How close a kind is to the cause; of two findings the one with the lower stage comes first."""

    STATEMENT = 0
    """One statement is wrong by itself: a write in place, a cut, a hook, a rule of a custom Function."""
    OMISSION = 1
    """Something was left out: a ``zero_grad``, a ``detach``, a ``create_graph``."""
    STRUCTURE = 2
    """The graph lacks something that the program means to train."""
    VALUES = 3
    """Numbers went wrong, which any of the above may have caused."""
    COST = 4
    """Right, but slow or large."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding: its meaning, severity, and closeness to the cause."""

    meaning: str
    severity: Severity
    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Result of a check, before it is ordered among others and becomes a ``Finding``."""

    kind: str
    message: str
    """One sentence with the names of variables and operators and the line of the cause."""
    remedy: str = ""
    """What to change, as code where possible."""
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
    """Evidence for it: short sentences with the values."""
    against: str = ""
    """Evidence against it that outweighs the rest, so that it is not reported; ``--explain`` shows it."""
    marks: tuple[Mark, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """One family of kinds; modules of this package offer theirs as ``CHECK``."""

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
