"""Sentences about what a recording lacks although it happened, so that silence is not mistaken for health."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from .event_data import LEVELS
from .events import Event, Recording
from .flight_recorder import ENGINE as FLIGHT_RECORDER

PROBLEMS = "problems"
"""Category of what was missed because recording itself failed, or the engine's release lacks something."""
Missed = tuple[str, str]
"""What was missed (``values``, ``processes``, ``regions``, ``functions``, ``problems``), and why."""


def missed_events(missed: Counter[Missed]) -> Iterator[Event]:
    """Yield an event for each thing that was missed, with how often."""
    for (what, why), count in sorted(missed.items()):
        yield Event("missed", op=what, data={"why": why, "count": count})


def sentences(recordings: Sequence[Recording], of: Sequence[str] = (), *, found_something: bool = False) -> list[str]:
    """Say what was not recorded of a program, in one recording or in those of several processes.

    With ``of``, only what was missed in that category; else also a sentence for a program without a backward pass and
    without findings.
    """
    found = [event for recording in recordings for event in recording.events if event.kind == "missed"]
    counts: Counter[Missed] = Counter()
    for event in found:
        counts[event.op, event.data["why"]] += event.data["count"]
    said = [_SAID[what](why, count) for (what, why), count in sorted(counts.items()) if what in (of or _SAID)]
    recordings = [one for one in recordings if one.engine != FLIGHT_RECORDER]  # which sees no backward pass
    if (
        recordings
        and not (of or found_something)
        and not any(event.kind == "backward" for recording in recordings for event in recording.events)
    ):
        said.insert(0, _nothing(recordings))
    return said


def launched_on(recording: Recording) -> list[str]:
    """Say for which devices the recorded times of nodes are those of kernel launches, not of computations."""
    found = {event.data["device"] for event in recording.events if event.kind == "backward" and "device" in event.data}
    if recording.level == LEVELS[0] or not found:
        return []
    devices = " and ".join(sorted(found))
    return [f"times of nodes on {devices} are those of launching their kernels, which run later"]


def _nothing(recordings: Sequence[Recording]) -> str:
    """Say what was recorded of a program that ran no backward pass."""
    kinds = Counter(event.kind for recording in recordings for event in recording.events)
    calls = kinds["operation"] + kinds["inplace"] + kinds["cut"]
    seen = f"only {_many(calls, 'call')} on tensors" if calls else "and no call on a tensor either"
    return f"nothing to diagnose: no backward pass was seen here, {seen}"


def _many(count: int, word: str) -> str:
    """Return a number with what is counted."""
    return f"{count:,} {word}{'' if count == 1 else 'es' if word.endswith('s') else 's'}"


def _values(why: str, count: int) -> str:
    return f"values of {_many(count, 'tensor')} could not be read ({why}): mistakes that only values show are not found"


def _processes(why: str, count: int) -> str:
    verb = "was" if count == 1 else "were"
    return f"{_many(count, 'process')} that the program started {verb} not recorded"


def _regions(why: str, count: int) -> str:
    return (
        f"{_many(count, 'call')} of torch.compile: layers and lines inside such regions are not seen as they are "
        "written; --eager runs them uncompiled"
    )


def _stance(why: str, count: int) -> str:
    return "this PyTorch has no torch.compiler.set_stance, so compiled regions ran as usual in spite of --eager"


def _functions(why: str, count: int) -> str:
    return f"the backward of {why} was not compared with finite differences: its tensors are not on the CPU"


def _problems(why: str, count: int) -> str:
    times = "once" if count == 1 else f"{count:,} times"
    return f"something could not be recorded, {times} ({_one_line(why)}): mistakes in it are not found"


def say_at_once(why: str) -> None:
    """Print on the original stderr that something cannot be recorded."""
    try:
        if sys.__stderr__ is not None:
            said = f"retrograd: could not be recorded: {_one_line(why)}. The program runs as it would alone.\n"
            sys.__stderr__.write(said)
            sys.__stderr__.flush()
    except (OSError, ValueError):
        pass


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)


_SAID: dict[str, Callable[[str, int], str]] = {
    "values": _values,
    "processes": _processes,
    "regions": _regions,
    "functions": _functions,
    PROBLEMS: _problems,
    "stance": _stance,
}
