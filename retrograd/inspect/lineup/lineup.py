"""``Lineup``: the result of comparing several runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from ...errors import UsageError
from ..garbage import collector_paused
from ..graphs.columns import Plain
from ..graphs.graph import EDGE_COLUMNS, NODE_COLUMNS, Graph
from ..graphs.graph_diff import MAY_DIFFER, TOLERANCE, GraphDiff, diff_graphs
from ..recording.events import Event, Recording
from .changed_alone import ChangedAlone, changed_alone
from .collective_order import OtherOrder, UnmatchedCollective, first_unmatched, other_order
from .digests import digest_summary, writers
from .divergence import Divergence, divergence
from .drift import DriftedReplicas, drifted_replicas
from .endings import Ending, endings
from .gradients import NonFinite, NormGap, Partial, first_nonfinite, norm_gaps, partial_gradients
from .replica import Replica, replica_of
from .results import OtherResult, first_other_result
from .run import Run


def kept_in_all(recordings: Sequence[Recording]) -> list[Recording]:
    """Return the recordings restricted to the backward passes that all of them have, with the events before each."""
    if not any(event.kind == "summary" for recording in recordings for event in recording.events):
        return list(recordings)
    numbers = [{event.data.get("run") for event in recording.events if _ends(event)} for recording in recordings]
    common = set[object]().union(*numbers).intersection(*numbers)
    return [replace(recording, events=_of_runs(recording.events, common)) for recording in recordings]


def _ends(event: Event) -> bool:
    return event.kind == "backward-end"


def _of_runs(events: list[Event], wanted: set[object]) -> list[Event]:
    """Return the events of these passes, each from the end of the pass before it, and the last events."""
    found: list[Event] = []
    begin = 0
    for row, event in enumerate(events):
        if _ends(event):
            if event.data.get("run") in wanted:
                found += events[begin : row + 1]
            begin = row + 1
    return [event for event in found + events[begin:] if event.kind != "summary"]


_FEW = 64
"""Largest number of ranks that are compared one by one."""
SCHEMA = 1
"""Schema number of a comparison written as JSON."""


@dataclass(slots=True)
class Lineup:
    """Several runs side by side, in the order of their names, and where they diverge."""

    runs: list[Run]
    ranks: bool
    """Whether the runs are ranks of one job, which work on different data."""
    divergence: Divergence | None = None
    partial: list[Partial] = field(default_factory=list)
    nonfinite: list[NonFinite] = field(default_factory=list)
    norms: list[NormGap] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    replicas: list[Replica] = field(default_factory=list)
    """For ranks: the parameters that each recorded."""
    drift: DriftedReplicas | None = None
    """For ranks: parameters whose replicas diverge."""
    order: OtherOrder | None = None
    """For ranks: gradients of different parameters that are summed in one collective."""
    alone: ChangedAlone | None = None
    """For ranks: gradients that some of them change after the all-reduce."""
    unmatched: UnmatchedCollective | None = None
    """For ranks: the first collective that does not match."""
    missing: list[int] = field(default_factory=list)
    """Ranks of the job without a recording."""
    graphs: GraphDiff | None = None
    """For two runs: the comparison of their graphs at the first step that differs, statistics included."""
    result: OtherResult | None = None
    """For two runs of one program: the first call with a different result, if calls were recorded."""
    step: int | None = None
    """That step."""

    @property
    def names(self) -> list[str]:
        """The name of each run."""
        return [run.name for run in self.runs]

    @property
    def ended_well(self) -> bool:
        """Whether every rank has a recording and ended by itself."""
        return not self.missing and all(one.state == "finished" for one in self.endings)

    def words(self, numbers: Iterable[int]) -> list[str]:
        """Return the names of runs; consecutive ranks become a range: ``ranks 0-36``."""
        if not self.ranks:
            return [self.names[number] for number in numbers]
        return ranges([self.runs[number].recording.rank or 0 for number in numbers])

    def __bool__(self) -> bool:
        """Whether the runs differ in something that should be the same."""
        odd = {(one.place.step, one.place.node, one.phase) for one in self.nonfinite}
        diverged = bool(self.divergence or self.partial or (self.graphs and not self.ranks))
        levels = {run.recording.level for run in self.runs}  # a lower level notices it later, or not at all
        some_odd = len(levels) == 1 and bool(odd) and (len(odd) > 1 or len(self.nonfinite) < len(self.runs))
        ends = {(one.state, one.steps, one.last, one.next) for one in self.endings}
        hang = any(one.state != "finished" for one in self.endings) and (len(ends) > 1 or bool(self.missing))
        return diverged or some_odd or hang or any(not gap.expected for gap in self.norms)

    def to_plain(self) -> dict[str, Plain]:
        """Return the comparison as JSON values."""
        return {
            "schema": SCHEMA,
            "differ": bool(self),
            "ranks": self.ranks,
            "runs": [{"name": run.name, "script": run.recording.script, "steps": len(run.steps)} for run in self.runs],
            "divergence": self.divergence and self.divergence.to_plain(),
            "partial_gradients": [one.to_plain() for one in self.partial],
            "nonfinite": [one.to_plain() for one in self.nonfinite],
            "norms": [one.to_plain() for one in self.norms],
            "endings": [one.to_plain() for one in self.endings],
            "missing_ranks": [*self.missing],
            "drift": self.drift and self.drift.to_plain(),
            "changed_alone": self.alone and self.alone.to_plain(),
            "unmatched_collective": self.unmatched and self.unmatched.to_plain(),
            "result": self.result and self.result.to_plain(),
            "step": self.step,
            "graphs": self.graphs and self.graphs.to_plain(),
        }


@collector_paused()
def line_up(recordings: Sequence[Recording], names: Sequence[str], tolerance: float = TOLERANCE) -> Lineup:
    """Compare recordings; ranks of one job are recognised by their recorded rank.

    Raises ``UsageError`` if there are not as many names as recordings.
    """
    if len(names) != len(recordings):
        raise UsageError(f"{len(recordings)} recordings were given {len(names)} names.", "Give a name for each.")
    recordings = kept_in_all(recordings)
    numbers = [recording.rank for recording in recordings]
    ranks = all(map(of_a_job, recordings)) and len(set(numbers)) == len(numbers)
    runs = [Run(recording, name) for recording, name in zip(recordings, names, strict=True)]
    found = Lineup(runs, ranks, divergence(runs), partial_gradients(runs), first_nonfinite(runs))
    found.norms = norm_gaps(runs, tolerance, ranks=ranks)
    found.endings = endings(runs)
    if ranks:
        replicas = found.replicas = [replica_of(run) for run in runs]
        found.drift, found.order, found.alone = (
            drifted_replicas(replicas),
            other_order(replicas),
            changed_alone(replicas),
        )
        found.unmatched = first_unmatched(runs)
        found.missing = missing_ranks(recordings)
    if len(runs) == 2:
        found.result = None if ranks else first_other_result(recordings[0], recordings[1], tolerance)
        first = found.divergence.step if ranks and found.divergence is not None else 0  # statistics of ranks may differ
        found.step, found.graphs = _first_pair(runs[0], runs[1], found.divergence, tolerance, first)
    return found


def similar_runs(found: Lineup) -> list[list[int]]:
    """Return groups of runs: in a large job, ranks with the same calls, lines and ending form one group.

    Whatever does not depend on values is the same for all ranks of a group.
    """
    if len(found.runs) <= _FEW or not found.ranks:
        return [[number] for number in range(len(found.runs))]
    odd = {one.run for one in found.nonfinite}
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, run in enumerate(found.runs):
        calls = hash(tuple([(event.kind, event.op, event.source) for event in run.recording.events]))
        ending = found.endings[number]
        groups.setdefault((calls, ending.state, ending.message, number in odd), []).append(number)
    return list(groups.values())


def ranges(ranks: Iterable[int]) -> list[str]:
    """Return ranks in words; three or more consecutive ones become a range: ``rank 3``, ``ranks 7-63``."""
    found: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if found and rank == found[-1][-1] + 1:
            found[-1].append(rank)
        else:
            found.append([rank])
    words = ([f"ranks {one[0]}-{one[-1]}"] if len(one) > 2 else [f"rank {rank}" for rank in one] for one in found)
    return [word for of_row in words for word in of_row]


def missing_ranks(recordings: Sequence[Recording]) -> list[int]:
    """Return the ranks of a job that should have a recording and have none."""
    here = {recording.rank for recording in recordings}
    compared = [
        data for recording in recordings if (data := digest_summary(recording)) is not None and not data.get("stopped")
    ]
    if compared:
        return sorted(set.union(*map(writers, compared)) - here)
    world = max(recording.world_size or 0 for recording in recordings)
    return [number for number in range(world) if number not in here]


def of_a_job(recording: Recording) -> bool:
    """Whether a recording belongs to one of several ranks."""
    return recording.rank is not None and recording.world_size != 1


def _first_pair(
    before: Run, after: Run, diverged: Divergence | None, tolerance: float, first: int
) -> tuple[int | None, GraphDiff | None]:
    """Return the first step, from ``first`` on, at which two runs differ, with their graphs; else the last step."""
    last = None
    for step, pair in islice(enumerate(zip(before.steps, after.steps, strict=False)), first, None):
        left, right = pair[0].snapshot, pair[1].snapshot
        if left is None or right is None or _are_equal(left, right):
            continue
        graphs = diff_graphs(left, right, tolerance)
        if graphs or (diverged is not None and diverged.step == step):
            return step, graphs
        last = step, graphs
    return last or (None, None)


def _are_equal(left: Graph, right: Graph) -> bool:
    """Whether two graphs are equal in everything except times."""
    columns = (column for column in (*NODE_COLUMNS, *EDGE_COLUMNS, "roots") if column not in ("source", "scope"))
    return all(getattr(left, column) == getattr(right, column) for column in columns) and all(
        left.measures[name] == right.measures[name]
        for name in left.measures.keys() & right.measures.keys()
        if name not in MAY_DIFFER
    )
