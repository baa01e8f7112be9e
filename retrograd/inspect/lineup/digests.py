"""Compares digests of replicated parameters, in a tree in which each rank exchanges messages with only a few others.

Sends and receives are yielded, so that the same code runs in a job and, simulating a thousand ranks, in one process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple, TypeVar

from ..recording.events import Event, Recording

FANOUT = 16
"""Largest number of ranks that report to one rank."""
_SORTS = 8
"""Different digests that are distinguished: messages have a fixed size."""
_WITNESSES = 2
"""Ranks of each digest that are known by number; these save their recordings."""
_ROW = 2 + _WITNESSES
_NOBODY = _OTHERWISE = -1
"""No rank, and a value that differs between ranks."""
Message = list[int]


class Collect(NamedTuple):
    """Requests the reports of the children, of this size."""

    size: int


class Report(NamedTuple):
    """Sends a message to the parent."""

    message: Message


class Spread(NamedTuple):
    """Sends a message to all children."""

    message: Message


class Learn(NamedTuple):
    """Requests the message that the parent spreads, of this size."""

    size: int


Request = Collect | Report | Spread | Learn
Result = TypeVar("Result")
Exchange = Generator[Request, Any, Result]


@dataclass(frozen=True, slots=True)
class Place:
    """One rank's position in the tree."""

    rank: int
    size: int

    @property
    def parent(self) -> int | None:
        """The rank that it reports to; None for the root."""
        return (self.rank - 1) // FANOUT if self.rank else None

    @property
    def children(self) -> range:
        """The ranks that report to it."""
        first = FANOUT * self.rank + 1
        return range(first, min(first + FANOUT, self.size))


def agreed(place: Place, own: Message, merge: Callable[[Sequence[Message]], Message]) -> Exchange[Message]:
    """Return the merged messages of all ranks, the same on each."""
    if place.children:
        own = merge([own, *(yield Collect(len(own)))])
    if place.parent is not None:
        yield Report(own)
        own = yield Learn(len(own))
    if place.children:
        yield Spread(own)
    return own


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many ranks have each digest."""

    sorts: tuple[tuple[int, tuple[int, ...]], ...]
    """Number of ranks with one digest, and the first of them, most ranks first."""
    others: int = 0
    """Ranks with further digests."""

    @property
    def unanimous(self) -> bool:
        """Whether all ranks have the same digest."""
        return len(self.sorts) == 1 and not self.others


def counted(place: Place, digest: int) -> Exchange[Verdict]:
    """Return how many ranks have each digest."""
    own = [digest, 1, place.rank, *[_NOBODY] * (_WITNESSES - 1), *[0] * (_ROW * (_SORTS - 1)), 0]
    message = yield from agreed(place, own, _added)
    rows = [message[at : at + _ROW] for at in range(0, _ROW * _SORTS, _ROW)]
    sorts = tuple((row[1], tuple(one for one in row[2:] if one != _NOBODY)) for row in rows if row[1])
    return Verdict(sorts, message[-1])


def _added(messages: Sequence[Message]) -> Message:
    """Return the sum of several messages' counts."""
    counts, witnesses = dict[int, int](), dict[int, list[int]]()
    for message in messages:
        for at in range(0, _ROW * _SORTS, _ROW):
            digest, count, *first = message[at : at + _ROW]
            if count:
                counts[digest] = counts.get(digest, 0) + count
                witnesses.setdefault(digest, []).extend(one for one in first if one != _NOBODY)
    ordered = sorted(counts, key=lambda digest: (-counts[digest], min(witnesses[digest])))
    found: Message = []
    for digest in ordered[:_SORTS]:
        first = sorted(witnesses[digest])[:_WITNESSES]
        found += [digest, counts[digest], *first, *[_NOBODY] * (_WITNESSES - len(first))]
    found += [0] * (_ROW * _SORTS - len(found))
    return [*found, sum(message[-1] for message in messages) + sum(counts[one] for one in ordered[_SORTS:])]


def _common(messages: Sequence[Message]) -> Message:
    """Return the values that are the same in all messages."""
    return [values[0] if len(set(values)) == 1 else _OTHERWISE for values in zip(*messages, strict=True)]


@dataclass
class Comparison:
    """What one rank knows of its own and the others' parameters."""

    place: Place
    steps: int = 0
    """Optimizer steps at which digests were compared."""
    difference: Verdict | None = None
    """The digests when they first differed; nothing is compared after that."""
    _shared: dict[int, list[bool]] = field(default_factory=dict)
    """By optimizer: which of its parameters were equal on all ranks before its first step."""

    def step(self, optimizer: int, before: Sequence[int | None], after: Sequence[int | None]) -> Exchange[None]:
        """Handle an optimizer step, with a number for each parameter's values before and after it."""
        if self.difference is not None:
            return
        if optimizer not in self._shared:
            self._shared[optimizer] = yield from self._replicated(before)
        shared = self._shared[optimizer]
        if any(shared):
            verdict = yield from counted(self.place, _digest([optimizer, *compress(after, shared)]))
            self.steps += 1
            self.difference = None if verdict.unanimous else verdict

    def _replicated(self, before: Sequence[int | None]) -> Exchange[list[bool]]:
        """Return which parameters are replicas on all ranks, rather than shards of larger ones."""
        lengths = yield from counted(self.place, len(before))
        if not lengths.unanimous:
            return [False] * len(before)
        common = yield from agreed(self.place, [_OTHERWISE if one is None else one for one in before], _common)
        return [one != _OTHERWISE for one in common]

    def event(self, stopped: str = "") -> Event:
        """Return the event that describes the comparison; ``stopped`` is why it ended early."""
        data: dict[str, Any] = {"steps": self.steps}
        if self.difference is not None:
            data["sorts"] = [[count, *ranks] for count, ranks in self.difference.sorts]
            data["others"] = self.difference.others
        return Event("digests", data={**data, "stopped": stopped} if stopped else data)


def _digest(values: Iterable[int | None]) -> int:
    """Return a 62-bit digest of numbers."""
    text = ",".join(map(str, values)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 2


def run_together(exchanges: Sequence[Exchange[Any]]) -> int:
    """Run the exchanges of all ranks in this process, by their ranks; return the number of messages."""
    reports, spread = dict[int, Message](), dict[int, Message]()
    answers: dict[int, Any] = dict.fromkeys(range(len(exchanges)))
    asked: dict[int, Request] = {}
    sent, size = 0, len(exchanges)
    while answers or asked:
        for rank, answer in answers.items():
            try:
                asked[rank] = exchanges[rank].send(answer)
            except StopIteration:
                continue
        answers = {}
        for rank, request in list(asked.items()):
            place = Place(rank, size)
            if isinstance(request, Report):
                reports[rank], answers[rank] = request.message, None
                sent += 1
            elif isinstance(request, Spread):
                spread.update(dict.fromkeys(place.children, request.message))
                answers[rank] = None
                sent += len(place.children)
            elif isinstance(request, Learn) and rank in spread:
                answers[rank] = spread.pop(rank)
            elif isinstance(request, Collect) and all(child in reports for child in place.children):
                answers[rank] = [reports.pop(child) for child in place.children]
            else:
                continue
            del asked[rank]
        if asked and not answers:
            raise RuntimeError(f"{len(asked)} ranks wait for others that are done")
    return sent


# -- what a recording says of it
def digest_summary(recording: Recording) -> dict[str, Any] | None:
    """Return what a rank knows of the comparison, None if there was none."""
    return next((event.data for event in reversed(recording.events) if event.kind == "digests"), None)


def writers(data: dict[str, Any]) -> set[int]:
    """Return the ranks that save their recordings: the first, and some of each digest."""
    return {0, *(rank for _, *ranks in data.get("sorts", ()) for rank in ranks)}


def is_left_out(recording: Recording) -> bool:
    """Whether this rank's recording can be left out, since its parameters were like others'."""
    data = digest_summary(recording)
    if data is None or data.get("stopped") or not data["steps"] or not recording.complete:
        return False
    return recording.rank not in writers(data) and not any(event.kind == "error" for event in recording.events)


def sentence(recordings: Iterable[Recording]) -> str:
    """Return a sentence about the comparison during the run, "" if there was none."""
    data = next(filter(None, map(digest_summary, recordings)), None)
    if data is None:
        return ""
    steps = f"{data['steps']} optimizer step{'s' * (data['steps'] != 1)}"
    if "sorts" in data:
        sides = [f"{count:,} (rank {ranks[0]}{' and others' * (count > 1)})" for count, *ranks in data["sorts"]]
        rest = f" and {data['others']:,} with other values" if data["others"] else ""
        sides_text = " against ".join(sides)
        return f"after {steps} ranks hold other values in parameters that were equal at first: {sides_text}{rest}"
    why = f"; {data['stopped']}, so what came later was not compared" if data.get("stopped") else ""
    return f"parameters that were equal on all ranks at first were equal after each of {steps}{why}"
