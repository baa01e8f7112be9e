"""Finds what went wrong in a recorded program, where, and how to fix it.

``rules`` holds a file or folder for each sort of cause; every one that has a ``CHECK`` takes part.  Beside it is what
rules are written with: ``base`` defines a check; ``facts`` are relations over the recording, of which ``Flow``, a
graph of tensors and calls, is the centre; ``queries`` ask them; ``roles`` says what a program means to train and by
what; ``text`` reads the program's lines and makes sentences.
"""

from __future__ import annotations

import functools
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ...errors import RetrogradError
from ..findings import SEVERITIES, Dropped, Finding, Findings
from ..fixes import Fix
from ..garbage import collector_paused
from ..graphs.graph_diff import TOLERANCE
from ..intent import COMMENT
from ..lineup.endings import is_lost
from ..lineup.gradients import received
from ..lineup.lineup import Lineup, line_up, similar_runs
from ..plugins import plugins_in
from ..recording.events import Recording
from . import rules as checks
from .base import Case, Check, Kind, finding_of
from .facts.finite import bad_runs
from .facts.flow import Flow
from .facts.runs import Run
from .queries.effects import certain_effects
from .queries.evidence import with_evidence
from .remedies import Fixes
from .rules.together import cases_of
from .text.words import at

__all__ = [
    "SEVERITIES",
    "Case",
    "Check",
    "Dropped",
    "Finding",
    "Flow",
    "Kind",
    "about",
    "all_checks",
    "diagnose",
    "diagnose_together",
    "explanation",
    "kinds",
    "spoiling",
]


FAILURES: list[str] = []
"""Failures of checks and of changes that they propose, with their tracebacks, for our own tests."""


@functools.cache
def all_checks() -> dict[str, Check]:
    """Return every check by its module's name, sorted; the modules are imported at the first call."""
    return plugins_in(checks, "CHECK")


def kinds() -> dict[str, Kind]:
    """Return every kind that a finding can have, with its meaning."""
    return {name: kind for check in all_checks().values() for name, kind in check.kinds.items()}


def diagnose(recording: Recording, *, dropped: list[Dropped] | None = None) -> list[Finding]:
    """Return what went wrong in a recorded run: causes first, most severe first; nothing for a healthy program.

    The recording may be new or loaded from a file; at level ``full`` the checks know most::

        for finding in rg.inspect.diagnose(rg.inspect.load("run.json")):
            print(finding.file, finding.line, finding.message, finding.remedy)

    ``dropped`` takes what was found and is not reported, with the reason: something else explains it, more speaks
    against it than for it, or it is certain and no rule knows the cause.
    """
    return Findings(finding for _, finding in _explained(recording, dropped))


def _explained(recording: Recording, dropped: list[Dropped] | None = None) -> list[tuple[Case, Finding]]:
    """Return what went wrong in a recorded run, as cases and as findings."""
    table = kinds()
    with collector_paused():
        flow = Flow(recording)
        cases = [_as_caught(case, flow) for case in _found(flow)]
        if dropped is not None:
            cases = [with_evidence(flow, case) for case in cases]
        weighed = _weighed(_ordered(cases, table), flow)
        if dropped is not None:
            silent = [*((case, why) for case, why in weighed if why), *_unexplained(flow, cases)]
            dropped += [Dropped(finding_of(case, table[case.kind]), why) for case, why in silent]
        fixes = Fixes(flow)
        kept = [case for case, why in weighed if not why]
        return [(case, replace(finding_of(case, table[case.kind]), fixes=_fixes(fixes, case))) for case in kept]


def _found(flow: Flow) -> Iterator[Case]:
    """Yield what each check finds; one that fails is reported, and the others go on."""
    for name, check in all_checks().items():
        with _reported(f"the check {name!r}"):
            yield from check.find(flow)


def _fixes(fixes: Fixes, case: Case) -> tuple[Fix, ...]:
    """Return the changes that mend a case, none where making them fails: the finding itself is not lost."""
    with _reported(f"the change for {case.kind!r}"):
        return fixes.of(case)
    return ()


@contextmanager
def _reported(what: str) -> Iterator[None]:
    """Report a failure of ours on stderr and go on."""
    try:
        yield
    except RetrogradError:
        raise
    except Exception as failure:
        FAILURES.append("".join(traceback.format_exception(failure)))
        print(f"retrograd: {what} failed ({type(failure).__name__}: {failure}) and is left out", file=sys.stderr)


def diagnose_together(recordings: Sequence[Recording], names: Sequence[str]) -> list[Finding]:
    """Return the findings of several recordings together (ranks of one job, or two runs of one program), then of each.

    A finding of all recordings is reported once, one of only some with their ``names``.
    """
    table = kinds()
    lineup = line_up(
        recordings, names, TOLERANCE if any(recording.rank is not None for recording in recordings) else 0.0
    )
    together = [finding_of(case, table[case.kind]) for case in cases_of(lineup)]
    alone: dict[tuple[str, str, int, str], tuple[Finding, list[int]]] = {}
    for numbers in similar_runs(lineup):
        for case, one in _explained(recordings[numbers[0]]):
            having = [number for number in numbers if not _follows(lineup, number, case, explained=bool(together))]
            if having:
                alone.setdefault((one.kind, one.file, one.line, one.message), (one, []))[1].extend(having)
    for one, having in alone.values():
        said = one.message if len(having) == len(names) else f"{', '.join(lineup.words(having))}: {one.message}"
        together.append(replace(one, message=said, nodes=(), marks=()))  # of which graph would have to be said
    return sorted(together, key=lambda one: SEVERITIES.index(one.severity))


def _follows(lineup: Lineup, number: int, case: Case, *, explained: bool) -> bool:
    """Whether a rank's finding is a consequence of another rank's: it lost the connection, or received its NaN."""
    if case.explains_error and explained and is_lost(lineup.runs[number].error):
        return True
    odd = case.kind in all_checks()["nonfinite"].kinds or case.kind == "exploding"
    return odd and number in received(lineup.nonfinite)


def explanation(recording: Recording) -> Finding | None:
    """Return the cause of the exception that ended the recording, None if no check knows it."""
    return _first(Flow(recording), lambda case: case.explains_error)


def about(flow: Flow, tensor: int) -> Finding | None:
    """Return the first finding whose trouble is that of one tensor."""
    return _first(flow, lambda case: tensor in case.subjects)


def spoiling(flow: Flow) -> tuple[Run, Finding] | None:
    """Return the first non-finite backward pass and its cause, None if there is none or no check knows it."""
    run = next(bad_runs(flow), None)
    found = None if run is None else _first(flow, lambda case: case.kind in all_checks()["nonfinite"].kinds)
    return None if run is None or found is None else (run, found)


def _first(flow: Flow, wanted: Callable[[Case], bool]) -> Finding | None:
    """Return the first finding of the wanted cases."""
    table = kinds()
    cases = [case for case in _found(flow) if wanted(case) and not case.against]
    first = next(iter(_ordered(cases, table)), None)
    return None if first is None else finding_of(first, table[first.kind])


def _as_caught(case: Case, flow: Flow) -> Case:
    """Return a case as a note where it explains an exception that the program caught and went on."""
    return replace(case, severity="note") if case.explains_error and flow.error is None else case


def _ordered(cases: list[Case], table: dict[str, Kind]) -> list[Case]:
    """Sort cases: the exception's explanation first, then by severity, then by nearness to the cause."""

    def place(case: Case) -> tuple[bool, int, int]:
        kind = table[case.kind]
        return not case.explains_error, SEVERITIES.index(case.severity or kind.severity), kind.stage

    return sorted(cases, key=place)


def _weighed(cases: list[Case], flow: Flow) -> list[tuple[Case, str]]:
    """Return each case with the reason why it is not reported, "" of those that are.

    What an earlier case explains is dropped: the same exception, the same line twice, trouble of the same tensors.  And
    so is what its rule found more against than for, and what the program's author says is meant.
    """
    weighed: list[tuple[Case, str]] = []
    seen: set[tuple[object, ...]] = set()
    explained: dict[int, Case] = {}
    of_error: Case | None = None
    for case in cases:
        place = (case.kind, case.source)
        earlier = explained.get(min(case.subjects, default=-1))
        if case.against or _is_meant(case, flow):
            reason = case.against or "its line says that it is deliberate"
        elif place in seen:
            reason = "the same is reported of this line already"
        elif case.explains_error and of_error is not None:
            reason = f"the exception is explained by {_case_text(of_error)}"
        elif earlier is not None and case.subjects <= explained.keys():
            reason = f"its tensors' trouble is explained by {_case_text(earlier)}"
        else:
            reason = ""
            seen.add(place)
            explained |= {tensor: case for tensor in case.subjects if tensor not in explained}
            of_error = case if case.explains_error and of_error is None else of_error
        weighed.append((case, reason))
    return weighed


def _unexplained(flow: Flow, cases: list[Case]) -> Iterator[tuple[Case, str]]:
    """Yield certain effects that no case is about, with their details."""
    explained = set().union(*(case.subjects for case in cases))
    bad = any(case.kind in all_checks()["nonfinite"].kinds for case in cases)
    for case in certain_effects(flow):
        if not case.subjects <= explained and not (bad and case.kind in all_checks()["nonfinite"].kinds):
            yield case, case.against


def _is_meant(case: Case, flow: Flow) -> bool:
    """Whether the line of a case has a comment that says so; what ended the program is reported nonetheless."""
    return not case.explains_error and COMMENT.search(flow.spelling.text(case.source)) is not None


def _case_text(case: Case) -> str:
    """Return how a reason refers to a case."""
    return f"{case.kind}{at(case.source)}"
