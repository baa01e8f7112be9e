"""Findings that need several recordings: the ranks of one job, or two runs of one program."""

from __future__ import annotations

from collections.abc import Iterator

from ....lineup.lineup import Lineup
from ....lineup.results import OtherResult
from ...base import Case, Check, Kind, Stage
from ...facts.flow import Flow
from ...text.words import at
from .graphs import other_graphs
from .replicas import drifting_replicas
from .same_data import same_data
from .sums import summed_biases
from .waiting import waiting

KINDS = {
    "unused-on-some-ranks": Kind("a parameter gets a gradient on some ranks only", "error", Stage.STRUCTURE),
    "reduction-order": Kind("ranks get their gradients ready in different orders", "warning", Stage.STRUCTURE),
    "same-data": Kind("all ranks work on the same data", "warning", Stage.STATEMENT),
    "unreduced-gradient": Kind("gradients differ between ranks after the all-reduce", "error", Stage.STATEMENT),
}


def find(_flow: Flow) -> Iterator[Case]:
    """Yield nothing: these findings need several recordings."""
    yield from ()


CHECK = Check("divergence", KINDS, find)


def cases_of(found: Lineup) -> Iterator[Case]:
    """Yield the cases of several recordings side by side."""
    if found.ranks:
        waits = list(waiting(found))
        yield from waits or other_graphs(found)
        yield from drifting_replicas(found)
        yield from summed_biases(found)
        yield from same_data(found)
    elif found.result is not None and len(found.runs) == 2:
        yield _nondeterminism(found.result)


def _nondeterminism(one: OtherResult) -> Case:
    """Return the case of two runs of one program that differ."""
    name = f"{one.name} = {one.op}(...)" if one.name and one.what == "result" else f"{one.op}(...)"
    message = {
        "result": f"{name}{at(one.source)} is the first operation whose result differs between two equal runs",
        "gradient": f"the gradient of {one.name or 'a leaf'}{at(one.source)} is the first that differs between two "
        "equal runs; everything in forward was the same",
        "call": f"two equal runs diverge{at(one.source)}, after the same results up to there",
    }[one.what]
    return Case(
        kind="nondeterminism",
        message=f"{message}: {one.before} in the first, {one.after} in the second.",
        remedy="seed what draws random numbers there, and let nothing depend on time, on the order of a set or of "
        "threads; torch.use_deterministic_algorithms(True) names operations that are not deterministic",
        source=one.source,
        op=one.op,
    )
