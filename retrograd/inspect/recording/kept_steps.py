"""``KeptSteps``: decides which steps of a long-running program are kept in full detail.

A *step* lasts from one step of an optimizer to the next (of the first optimizer that stepped, if there are several);
without optimizer, from the end of one backward pass to the end of the next. Kept are the first and the last steps,
those unlike any before (another line, operator or shape, a graph that grew, an error, a gradient that is zero or not
finite), and a sample of the others. The rest are replaced by events that hold sums.

What is left is a sequence that the program could have produced: two steps that become neighbours are, where possible,
like two that were neighbours. A tensor of a dropped step that is used later is replaced by that of the last step like
it (``stand_ins``).
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from .events import Event
from .journal import Journal
from .kept_snapshots import KeptSnapshots
from .step_forms import Form, form_of
from .tensor_table import TensorTable

KEPT = 200
"""Steps kept by default."""
FEWEST = 4
"""Fewest steps with which one of each kind can be kept."""
_MOST_EVENTS = 150_000
"""Events beyond which fewer steps are kept, about 100 MB; but at least so many of each kind:"""
_LEAST = 2
_BATCH = 16
"""Steps that are examined together, once there are more than are kept."""
_WAITING = 8
"""Steps that may still be kept because of the next one."""
_PATIENCE = 16
"""Steps of other optimizers after which one of them defines the steps."""
_LONG = 20_000
"""Events after which a step ends with a backward pass, even without an optimizer step."""
_REMEMBERED = 100_000
"""Forms of steps, and pairs of them, that are remembered."""
_REMEMBERED_STEPS = 32
"""Dropped steps before a kept one whose tensors are remembered."""


class Mark(NamedTuple):
    """A point in the recording: index of the next event, and numbers of the next tensor, memory and graph."""

    row: int
    tensor: int
    memory: int
    graph: int


@dataclass(slots=True)
class Gap:
    """Consecutive steps that were dropped."""

    first: int
    """Number of the first dropped step."""
    steps: int = 0
    runs: int = 0
    seconds: float = 0.0
    kinds: Counter[str] = field(default_factory=Counter)
    norms: dict[int, list[float]] = field(default_factory=dict)
    """Leaf -> number of gradients that arrived there; least, greatest and sum of their norms."""
    latest: deque[Step] = field(default_factory=deque)
    """The last dropped steps, without events: steps that are kept may use their tensors."""
    continuous: bool = True
    """Whether steps like those around the gap were once seen in succession."""

    def event(self) -> Event:
        """Return the summary event that replaces all dropped events."""
        norms = {str(leaf): [*figures[:3], figures[3] / figures[0]] for leaf, figures in self.norms.items()}
        data: dict[str, Any] = {"first_step": self.first, "steps": self.steps, "runs": self.runs}
        data |= {"seconds": self.seconds, "kinds": dict(sorted(self.kinds.items())), "norms": norms}
        return Event("summary", data={**data, "continuous": self.continuous})


@dataclass(slots=True)
class Step:
    """One step."""

    number: int
    begin: Mark
    end: Mark
    form: Form
    new: bool
    """Whether no earlier step was like it."""
    bridge: bool = False
    """Whether it is kept only because of the next one."""
    handles: list[int] = field(default_factory=list)
    """Handles of the hooks that it registered."""
    before: Gap | None = None
    """The steps dropped between the previous kept step and this one."""


class KeptSteps:
    """Drops steps from a journal while it is written."""

    def __init__(self, most: int, journal: Journal, tensors: TensorTable, graphs: KeptSnapshots) -> None:
        self._journal, self._tensors, self._graphs = journal, tensors, graphs
        self._each = max(most // 4, 1)
        """Steps kept of each kind: first, last, changed, samples."""
        self._marks = [Mark(0, 0, 0, 0)]
        """Beginnings of the steps that were not examined yet."""
        self._batch = min(_BATCH, self._each)
        self._enough = max(most, FEWEST) + self._batch
        self._pace: int | None = None
        """The optimizer whose steps divide the program."""
        self._others = 0
        self._accumulates = False
        """Whether some backward pass filled ``.grad``: then passes that return gradients end no step."""
        self._runs = 0
        """Backward passes that are running."""
        self._due = False
        self._count = 0
        self._seen: set[int] = set()
        self._followed: set[tuple[int, int]] = set()
        self.kept: list[Step] = []
        self._waiting: deque[Step] = deque()
        self._recent: deque[Step] = deque()
        self.gap: Gap | None = None
        """The steps dropped after the last of ``kept``."""
        self._stride = 1
        self._living: set[int] = set()

    # -- where steps end

    def run_begins(self, *, accumulates: bool) -> None:
        """Note that a backward pass begins, which fills ``.grad`` or returns gradients."""
        self._runs += 1
        if self._pace is None and (accumulates or not self._accumulates):
            self._accumulates, self._due = accumulates, True

    def run_ended(self) -> None:
        """Note that the backward pass ended."""
        self._runs = max(self._runs - 1, 0)
        if not self._runs and (self._due or len(self._journal) - self._marks[-1].row > _LONG):
            self._mark()

    def stepped(self, optimizer: int) -> None:
        """Note that an optimizer steps."""
        if self._pace is None or self._others >= _PATIENCE:
            self._pace = optimizer
        self._others = 0 if optimizer == self._pace else self._others + 1
        if optimizer == self._pace:
            if self._runs:
                self._due = True
            else:
                self._mark()

    def _mark(self) -> None:
        self._due = False
        tensors, journal = self._tensors, self._journal
        self._marks.append(Mark(len(journal), len(tensors), tensors.memories, self._graphs.count))
        if len(self._marks) > self._enough or len(journal.entries) > _MOST_EVENTS:
            self._take()

    # -- which are kept

    def _take(self) -> None:
        """Examine all steps that have ended."""
        self._journal.settle()
        self._living = self._tensors.alive()
        marks = self._marks
        for begin, end in pairwise(marks):
            self._add(begin, end)
        del marks[:-1]
        self._enough = self._batch
        while len(self._journal.entries) > _MOST_EVENTS and self._each > _LEAST:
            self._each = max(self._each // 2, _LEAST)
            self._thin()

    def _add(self, begin: Mark, end: Mark) -> None:
        events, rows = self._events(begin, end), self._tensors.rows
        tensors = (rows.facts(number) for number in range(begin.tensor, end.tensor) if number in rows)
        form = form_of(events, tensors, self._graphs.sizes(begin.graph, end.graph))
        step = Step(self._count, begin, end, form, new=form.signs not in self._seen)
        step.handles = [event.data.get("handle", -1) for event in events if event.kind == "hook" and _registers(event)]
        self._count += 1
        if len(self._seen) > _REMEMBERED or len(self._followed) > _REMEMBERED:
            self._seen.clear()
            self._followed.clear()
        self._seen.add(form.signs)
        last = self._recent[-1] if self._recent else self.kept[-1] if self.kept else None
        if last is not None:
            self._followed.add((last.form.calls, form.calls))
        self._recent.append(step)
        while len(self._recent) > self._each:
            self._leave(self._recent.popleft())

    def _leave(self, step: Step) -> None:
        """Keep or drop a step that is no longer among the last ones."""
        if len(self.kept) < self._each and self.gap is None and not self._waiting:
            self.kept.append(step)
        elif step.new:
            self._bridge(step)
            self._keep(step)
        elif step.number >= self.kept[-1].number + self._stride and self._follows(step):
            self._drop_waiting(len(self._waiting))
            self._keep(step)
        else:
            self._waiting.append(step)
            if len(self._waiting) > _WAITING:
                self._drop_waiting(1)

    def _keep(self, step: Step) -> None:
        step.before, self.gap = self.gap, None
        if step.before is not None:
            step.before.continuous = self._follows(step)
        self.kept.append(step)
        if len(self.kept) > 3 * self._each:
            self._thin()

    def _follows(self, step: Step) -> bool:
        """Whether a step like this once followed one like the last kept step."""
        return (self.kept[-1].form.calls, step.form.calls) in self._followed

    def _bridge(self, step: Step) -> None:
        """Keep the steps that lead from the last kept one to this one."""
        waiting = self._waiting
        if not self._follows(step):
            ways = [place for place, one in enumerate(waiting) if self._follows(one)]
            self._drop_waiting(ways[-1] if ways else max(len(waiting) - 1, 0))
            while waiting:
                one = waiting.popleft()
                one.bridge = True
                self._keep(one)
        self._drop_waiting(len(waiting))

    def _drop_waiting(self, count: int) -> None:
        for _ in range(count):
            step = self._waiting.popleft()
            self.gap = self._dropped(step, self.gap)

    def _thin(self) -> None:
        """Keep half of the steps between the first and the last ones."""
        while len(self._recent) > self._each:
            self._leave(self._recent.popleft())
        between = self.kept[self._each :]
        changed = [step for step in between if step.new or step.bridge]
        samples = [step for step in between if not step.new and not step.bridge]
        doomed: set[int] = set()
        if len(changed) > self._each:
            right = [step for step in changed if step.new and not step.form.wrong]
            doomed |= {step.number for step in (right if len(right) > len(changed) // 3 else changed)[1::2]}
        if len(samples) > self._each:
            self._stride *= 2
            doomed |= {step.number for step in samples[1::2]}
        for place in range(len(self.kept) - 2, -1, -1):
            following = self.kept[place + 1]
            if self.kept[place].bridge and following.number in doomed:
                doomed.add(self.kept[place].number)
        self._drop_kept(doomed)

    def _drop_kept(self, doomed: set[int]) -> None:
        """Drop kept steps; the gaps before and after each are joined."""
        left: list[Step] = []
        gap: Gap | None = None
        for step in self.kept:
            gap = _joined(gap, step.before)
            if gap is not None:
                self._trim(gap)
            if step.number in doomed:
                gap = self._dropped(step, gap)
            else:
                step.before, gap = gap, None
                if step.before is not None:
                    step.before.continuous = (left[-1].form.calls, step.form.calls) in self._followed
                left.append(step)
        self.kept, self.gap = left, _joined(gap, self.gap)

    # -- dropping

    def _events(self, begin: Mark, end: Mark) -> list[Event]:
        place = self._journal.index(begin.row)
        return self._journal.entries[place : place + end.row - begin.row]

    def _dropped(self, step: Step, gap: Gap | None) -> Gap:
        """Drop a step, and return the gap that contains it."""
        gap = gap or Gap(step.number)
        gap.steps += 1
        for event in self._events(step.begin, step.end):
            gap.kinds[event.kind] += 1
            if event.kind == "accumulate":
                _count_norm(gap, event.data)
            elif event.kind == "backward-end":
                gap.runs += 1
                gap.seconds += event.data.get("seconds", 0.0)
        gap.latest.append(step)
        self._trim(gap)
        like = self._like(step)
        self._forget(step, everything=like is not None and like.form.shapes == step.form.shapes)
        self._journal.drop(step.begin.row, step.end.row)
        self._graphs.drop(step.begin.graph, step.end.graph)
        return gap

    def _trim(self, gap: Gap) -> None:
        """Forget the tensors of all but the last steps of a gap."""
        while len(gap.latest) > _REMEMBERED_STEPS:
            self._forget(gap.latest.popleft(), everything=True)

    def _forget(self, step: Step, *, everything: bool) -> None:
        """Forget the dead tensors of a step; those with a name may have been used later."""
        rows, living = self._tensors.rows, self._living
        for number in range(step.begin.tensor, step.end.tensor):
            if number not in living and number in rows and (everything or not rows.facts(number).name):
                del rows[number]

    def _like(self, step: Step) -> Step | None:
        """Return the last earlier kept step that made the same calls, preferably with the same shapes."""
        similar = None
        for one in reversed(self.kept):
            if one.number < step.number and one.form.shapes == step.form.shapes:
                return one
            if similar is None and one.number < step.number and _same_counts(one, step):
                similar = one
        return similar

    def finish(self) -> None:
        """Examine the last steps at the end, and make the gap before them a plausible one."""
        if self.kept:
            self._take()
            while self._waiting and not self._follows(self._waiting[0]):
                self._drop_waiting(1)

    def gaps(self) -> list[tuple[int, Gap]]:
        """Return the gaps, with the index of the event after each."""
        found = [(step.begin.row, step.before) for step in self.kept if step.before is not None]
        if self.gap is not None:
            following = [*self._waiting, *self._recent][:1]
            if following:
                self.gap.continuous = self._follows(following[0])
            found.append((following[0].begin.row if following else self._marks[0].row, self.gap))
        return found

    def stand_ins(self) -> list[tuple[Step, Step]]:
        """Return dropped steps whose tensors may be used later, in order, with the kept steps that replace them."""
        dropped = [step for _, gap in self.gaps() for step in gap.latest]
        found = ((step, self._like(step)) for step in dropped)
        return [(step, like) for step, like in found if like is not None]


def _same_counts(one: Step, other: Step) -> bool:
    """Whether two steps made the same calls, and equally many tensors and hooks."""
    return (
        one.form.calls == other.form.calls
        and len(one.handles) == len(other.handles)
        and one.end.tensor - one.begin.tensor == other.end.tensor - other.begin.tensor
        and one.end.memory - one.begin.memory == other.end.memory - other.begin.memory
    )


def _registers(event: Event) -> bool:
    return bool(event.data.get("action") == "registered")


def _joined(one: Gap | None, other: Gap | None) -> Gap | None:
    """Return two consecutive gaps as one."""
    if one is None or other is None:
        return one or other
    one.steps += other.steps
    one.runs += other.runs
    one.seconds += other.seconds
    one.kinds.update(other.kinds)
    for leaf, figures in other.norms.items():
        have = one.norms.get(leaf)
        one.norms[leaf] = figures if have is None else _added(have, figures)
    one.latest.extend(other.latest)
    return one


def _count_norm(gap: Gap, data: dict[str, Any]) -> None:
    """Add the norm of a gradient that arrived."""
    norm, leaf = data.get("grad_norm"), data.get("tensor")
    if norm is not None and leaf is not None:
        have = gap.norms.get(leaf)
        new = [1, norm, norm, norm]
        gap.norms[leaf] = new if have is None else _added(have, new)


def _added(one: list[float], other: list[float]) -> list[float]:
    """Return the combined count, least, greatest and sum."""
    return [one[0] + other[0], min(one[1], other[1]), max(one[2], other[2]), one[3] + other[3]]
