"""Tensors that carry the graph of one backward pass into the next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...program.places import SourceLine
from ...program.syntax import parsed_expression
from ..facts.flow import Flow
from ..facts.runs import Run
from ..text.spelling import assigned, hands_over, passed_on, sets_attribute, takes

_PLACE = re.compile(r"(?P<all>.+)\[\d+\]$")
"""An entry of a list or tuple."""


@dataclass(frozen=True, slots=True)
class CarriedTensor:
    """A tensor with a history that was made before a run ended and used after it."""

    tensor: int
    name: str
    maker: int
    user: int
    made_at: SourceLine | None
    """Where it was made, in the function in which it lives on."""
    used_at: SourceLine | None
    made_again: bool
    """Its line makes one in each iteration."""
    several: bool
    """The name is that of several tensors, such as the two states of an LSTM."""

    @property
    def detached(self) -> str:
        """The statement that cuts it off from its old graph."""
        name = self.name if parsed_expression(self.name) is not None else "it"
        if name.startswith("("):  # (h, c)
            return f"{name[1:-1]} = " + ", ".join(f"{one.strip()}.detach()" for one in name[1:-1].split(","))
        place = _PLACE.match(name)  # the others of its list or tuple were made with it, and an entry of a tuple stays
        name = place["all"] if place else name
        return f"{name} = tuple(t.detach() for t in {name})" if self.several or place else f"{name} = {name}.detach()"


def carried_tensor(flow: Flow, earlier: Run, later: Run) -> CarriedTensor | None:
    """Return the tensor through which the graph of an earlier pass is connected with that of a later one."""
    theirs = flow.reached_by(earlier).calls
    taken = list(_taken_over(flow, earlier, later))
    used = [one for one in taken if one[0] in theirs]
    found = used or [one for one in taken if theirs & flow.behind([one[2]], one[1]).calls]
    if not found:
        return None
    maker, user, tensor = max(found, key=lambda item: (item[0], -item[1]))
    beside = {one[2] for one in taken if flow.events[one[0]].source == flow.events[maker].source}
    carried = _described(flow, (tensor, maker, user), earlier, len(beside))
    # what the earlier run did not use itself is a state beside a result, of which each iteration makes one
    return carried if used or carried.made_again else None


def _taken_over(flow: Flow, earlier: Run, later: Run) -> Iterator[tuple[int, int, int]]:
    """Yield (maker, user, tensor) for each tensor made before one run that a call behind another, after it, takes."""
    for user in flow.reached_by(later).calls:
        for tensor in flow.inputs(user) if user >= earlier.end else ():
            maker = flow.last_producer(tensor, user, gradients=True)
            if maker is not None and maker < earlier.begin:
                yield maker, user, tensor


def _described(flow: Flow, found: tuple[int, int, int], run: Run, beside: int) -> CarriedTensor:
    """Return name, origin and use of a tensor in the function in which it outlived a pass.

    ``beside`` is how many tensors of its line were carried over.
    """
    tensor, maker, user = found
    made_at, used_at = living_line(flow, maker, run), living_line(flow, user, run)
    names = [flow.spelling.spelled(tensor, user), *sorted(flow.spelling.names(tensor))]
    spelled = next((name for name in names if "." in name), names[0])
    kept = not takes(flow.spelling.text(used_at), assigned(flow.spelling.text(made_at)))
    if "." in spelled or (
        kept and _hidden(flow, maker, user, used_at)
    ):  # outlives every function: the line itself is the place
        used_at = flow.events[user].source
        made_at = flow.events[maker].source if _hidden(flow, maker, user, made_at) else made_at
    name = spelled if "." in spelled else flow.name(tensor, used_at)
    if not flow.spelling.has_name(tensor):
        name = assigned(flow.spelling.text(made_at)) or name
    twins = [row for row in flow.made_at(flow.events[maker].source, flow.events[maker].op) if row > run.end]
    lived = living_line(flow, maker, run)
    again = any(flow.has_node(row) and living_line(flow, row, run) == lived for row in twins)
    keeping = [line for line in flow.lines(maker) if sets_attribute(flow.spelling.text(line), spelled)]
    if not again and keeping:  # its object's own method keeps it, not the line that made the object
        made_at = keeping[0]
    elif not again and made_at is not None:
        made_at = _once(flow, maker, user, made_at)
    known = flow.spelling.has_name(tensor)
    lines = () if known else (used_at, flow.events[user].source, flow.events[maker].source)
    passed = next(filter(None, (passed_on(flow.spelling.text(line)) for line in lines)), "")
    name = _attribute(flow, {name, *flow.spelling.names(tensor)}, maker, run) or passed or name
    states = max(beside, len(flow.events[maker].data.get("outputs", ())) - 1)  # what comes beside the result
    several = bool(passed) and states > 1
    return CarriedTensor(tensor, name, maker, user, made_at, used_at, again, several)


def _attribute(flow: Flow, names: set[str], maker: int, run: Run) -> str:
    """Return the attribute that keeps a tensor which is only a local variable of a function that has returned."""
    line = flow.events[maker].source
    if line is None or run.source is None or line.function in (run.source.function, "<module>"):
        return ""
    kept = (flow.spelling.attribute(name, line) for name in sorted(names))
    return next((found[0] for found in kept if found is not None), "")


def _once(flow: Flow, maker: int, user: int, line: SourceLine) -> SourceLine:
    """Return the line that made a tensor as its function holds it, or the one further in that did so but once.

    A property or a method that keeps what it computes is called in each iteration and computes in the first.
    """
    lines = flow.lines(maker)
    again = {one for row in range(user, len(flow.events)) for one in flow.lines(row)}
    inner = lines[: lines.index(line) + 1] if line in lines else [line]
    return next((one for one in reversed(inner) if one not in again), line)


def _hidden(flow: Flow, maker: int, user: int, line: SourceLine | None) -> bool:
    """Whether the function that makes and uses a tensor keeps it itself: the line that calls it hands nothing over."""
    made, used = flow.events[maker].source, flow.events[user].source
    if line is None or made is None or used is None or line == used:
        return False
    if (made.file, made.function) != (used.file, used.function):
        return False
    return not hands_over(flow.spelling.text(line))


def living_line(flow: Flow, row: int, run: Run) -> SourceLine | None:
    """Return the function's line, during a call, that also called a backward pass: what it holds outlives it."""
    functions = {(frame.get("file"), frame.get("function")) for frame in run.began.get("stack", ())}
    if not functions and run.source:
        functions = {(run.source.file, run.source.function)}
    lines = flow.lines(row)
    return next((line for line in lines if (line.file, line.function) in functions), flow.events[row].source)
