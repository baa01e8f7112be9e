"""Rules of custom Functions that do not fit their forward: count, shape, value, and second derivative."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.calls import CALLS
from ..facts.flow import Flow
from ..facts.lines import backward_line
from ..text.phrases import NO_GRAPH
from ..text.words import at, counted, shape_text
from ..thresholds import DIFFERENT, MEASURED
from .recomputed_in_rules import recomputed

KINDS = {
    "wrong-backward": Kind("analytic and numeric derivative differ", "error", Stage.STATEMENT),
    "wrong-backward-shape": Kind("a custom Function returns a gradient of the wrong shape", "error", Stage.STATEMENT),
    "wrong-backward-count": Kind("a custom Function returns the wrong number of gradients", "error", Stage.STATEMENT),
    "wrong-double-backward": Kind("the second derivative is silently wrong", "error", Stage.STATEMENT),
}


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family, one for each class and kind; measured ones only if there are no others."""
    reported: set[tuple[str, str]] = set()
    for case in (*_returned(flow), *_constants(flow), *recomputed(flow), *_measured(flow)):
        key = (case.kind, case.op)
        if key not in reported and not ("analytic" in case.evidence and case.op in {op for _, op in reported}):
            reported.add(key)
            yield case


CHECK = Check("function", KINDS, find)


def _returned(flow: Flow) -> Iterator[Case]:
    """Yield a case for each backward that returned too few, too many or misshapen gradients."""
    forwards = {(one.op, one.data.get("node")): one for _, one in flow.of_kind("function", action="forward")}
    for _, event in flow.of_kind("function", action="backward"):
        forward = forwards.get((event.op, event.data.get("node")))
        given = forward.data if forward is not None and "argument_count" not in event.data else event.data
        wanted, got = given.get("argument_count"), event.data.get("gradient_count")
        if wanted is not None and got is not None and got != wanted and not _only_none_beyond(event, wanted):
            yield _count_case(flow, event, forward, wanted, got)
        elif forward is not None:
            yield from _shape_cases(flow, event, forward)


def _only_none_beyond(event: Event, wanted: int) -> bool:
    """Whether the surplus results are all None, which is allowed."""
    shapes = event.data.get("gradient_shapes", [])
    return len(shapes) > wanted and all(shape is None for shape in shapes[wanted:])


def _count_case(flow: Flow, event: Event, forward: Event | None, wanted: int, got: int) -> Case:
    """Return the case of a wrong number of gradients."""
    names = (forward or event).data.get("parameters", [])
    missing = (
        f" ({', '.join(names[got:wanted])} {'is' if wanted - got == 1 else 'are'} missing)" if got < wanted else ""
    )
    source = backward_line(event)
    return Case(
        kind="wrong-backward-count",
        message=f"{event.op}.backward{at(source)} returns {counted(got, 'gradient')}, but forward has "
        f"{counted(wanted, 'input')}{missing if len(names) >= wanted else ''}.",
        remedy="return one gradient for each input of forward, None for those that have none: return "
        + ", ".join(f"grad_{name}" for name in (names[:wanted] or [str(place) for place in range(wanted)])),
        source=source,
        op=event.op,
        explains_error="number of gradients" in flow.error_text,
    )


def _shape_cases(flow: Flow, event: Event, forward: Event) -> Iterator[Case]:
    """Yield a case when a gradient cannot be summed to the shape of its input."""
    shapes, gradients = forward.data.get("shapes", []), event.data.get("gradient_shapes", [])
    names = forward.data.get("parameters", [])
    for place, (shape, gradient) in enumerate(zip(shapes, gradients, strict=False)):
        if shape is None or gradient is None or list(shape) == list(gradient):
            continue
        fatal = not _sums_to(gradient, shape)
        if not fatal and _is_rightly_summed(flow, forward, place, gradient):
            continue
        name = names[place] if place < len(names) else f"input {place}"
        source = backward_line(event)
        yield Case(
            kind="wrong-backward-shape",
            message=f"{event.op}.backward{at(source)} returns a gradient of shape {shape_text(gradient)} for {name}, "
            f"whose shape is {shape_text(shape)}" + ("." if fatal else "; it is summed silently."),
            remedy=_reshaping(name, list(shape), list(gradient)),
            source=source,
            op=event.op,
            explains_error="invalid gradient" in flow.error_text,
        )
        return


def _reshaping(name: str, shape: list[int], gradient: list[int]) -> str:
    """Return an expression that gives a gradient the shape of its input."""
    if len(shape) == 2 and gradient == shape[::-1]:
        return f"transpose what is returned for {name}: grad_{name}.transpose(0, 1)"
    return f"sum or reshape it to {shape_text(shape)}, such as by grad_{name}.sum_to_size(...)"


def _is_rightly_summed(flow: Flow, forward: Event, place: int, gradient: list[int]) -> bool:
    """Whether summing a gradient to its input's shape gives the derivative.

    Finite differences say so; without them what has the shape of an output is taken for the gradient of an input that
    forward broadcast, left to the engine to sum.
    """
    measured = [event.data for _, event in flow.of_kind("function", action="checked") if event.op == forward.op]
    if measured:
        return not any(one.get("relative_error") and one.get("argument") == place for one in measured)
    return any(list(flow.facts(out).shape) == list(gradient) for out in forward.data.get("outputs", ()))


def _sums_to(gradient: list[int], shape: list[int]) -> bool:
    """Whether a gradient is a broadcast of a shape."""
    tail = gradient[len(gradient) - len(shape) :] if len(gradient) >= len(shape) else []
    return len(tail) == len(shape) and all(want in (1, got) for want, got in zip(shape, tail, strict=True))


def _measured(flow: Flow) -> Iterator[Case]:
    """Yield a case for each Function whose derivative was compared with finite differences and differs."""
    forwards = [event for _, event in flow.of_kind("function", action="forward")]
    mutating = {event.op for event in forwards if any(map(flow.requires_grad, event.data.get("mutated", ())))}
    for _, event in flow.of_kind("function", action="checked"):
        if event.data.get("relative_error", 0.0) >= DIFFERENT and event.op not in mutating:
            case = _measured_case(event, _entries(flow, event))
            unrecorded = event.data.get("order") == 2 and event.data.get("missing") and NO_GRAPH in flow.error_text
            yield replace(case, explains_error=True) if unrecorded else case


def _entries(flow: Flow, checked: Event) -> int:
    """Return how many entries the argument of a Function had whose derivative differs, or 0 if that is not known."""
    place = checked.data.get("argument", 0)
    for _, event in flow.of_kind("function", action="forward"):
        given = event.data.get("inputs", ())
        if event.op == checked.op and place < len(given):
            return prod(flow.facts(given[place]).shape)
    return 0


_REASONS = {
    "spread": (
        (
            "gives another gradient when the entries of what comes in share memory, as those of sum() do: it writes "
            "into the gradient that it is given, and one write changes all"
        ),
        "change a copy: grad = grad.clone() before the write, or torch.where(mask, grad, 0) in place of it",
    ),
    "drawn": (
        "draws its own random numbers, other ones than forward did: it is the derivative of another draw",
        "keep what forward drew (ctx.save_for_backward(mask)) in place of drawing it again",
    ),
}
"""Reason why a backward is wrong although its rule is right -> sentence and fix."""


def _circumstance_case(event: Event, source: SourceLine | None) -> Case:
    """Return the case of a backward that is wrong only in the circumstances of the program."""
    says, fix = _REASONS[event.data["reason"]]
    message = f"{event.op}.backward{at(source)} {says}."
    return Case(kind="wrong-backward", message=message, remedy=fix, source=source, op=event.op)


def _measured_case(event: Event, entries: int) -> Case:
    """Return the case of one derivative that differs."""
    data = event.data
    if data.get("reason") in _REASONS:
        return _circumstance_case(event, event.source or backward_line(event))
    second = data.get("order") == 2
    name = _parameter(data, data.get("argument", 0))
    source = event.source or backward_line(event)
    factor = data.get("factor")
    share = f" ({factor:.4g} times as much, for every entry)" if factor and not data.get("missing") else ""
    other = data.get("exchanged")
    if other is not None:
        source, share = backward_line(event), f", which it gives for {_parameter(data, other)}: the two are exchanged"
    to = "the incoming gradient" if data.get("incoming") else f"{name}{data.get('index') or ''}"
    nothing = (
        f"returns a gradient without a history in {name}, so zero" if second else f"returns None for {name}, so zero"
    )
    gives = nothing if data.get("missing") else f"gives {_number(data, 'analytic')}"
    return Case(
        kind="wrong-double-backward" if second else "wrong-backward",
        message=f"{event.op}.backward{at(source)} {gives} as {'second ' if second else ''}derivative with respect to "
        f"{to}; finite differences give {_number(data, 'numeric')}{share}.",
        remedy=_correction(data, name, entries),
        source=source,
        op=event.op,
        evidence={key: data.get(key) for key in ("analytic", "numeric", "index", "factor") if key in data},
    )


def _parameter(data: dict[str, Any], place: int) -> str:
    """Return the name of an argument of forward."""
    names = data.get("parameters", [])
    return names[place] if place < len(names) else f"input {place}"


def _correction(data: dict[str, Any], name: str, entries: int) -> str:
    """Return what to change in a backward rule, as far as the numbers show."""
    factor = data.get("factor")
    if data.get("order") == 2:
        return "compute what backward returns from saved inputs, with operations that record; gradgradcheck checks it"
    if (other := data.get("exchanged")) is not None:
        return f"return them in the order of what forward takes: {name} and {_parameter(data, other)} have each other's"
    if data.get("missing"):
        return f"return the gradient of {name} in its place instead of None"
    if data.get("constant"):
        return f"multiply what backward returns for {name} by the incoming gradient"
    if factor is not None and abs(factor + 1) < MEASURED:
        return f"change the sign of what backward returns for {name}"
    if factor and entries > 1 and abs(factor / entries - 1) < MEASURED:  # forward takes the mean
        return f"divide what backward returns for {name} by {name}.numel()"
    if factor:
        return f"multiply what backward returns for {name} by {1 / factor:.4g}"
    return f"correct what backward returns for {name}; torch.autograd.gradcheck checks it in float64"


def _number(data: dict[str, Any], key: str) -> str:
    return f"{data.get(key, float('nan')):.6g}"


def _constants(flow: Flow) -> Iterator[Case]:
    """Yield a case for each Function that was differentiated twice and keeps an intermediate value on ctx."""
    twice = [run for run in flow.runs if run.began.get("create_graph")]
    for row, event in flow.of_kind("function", action="forward"):
        kept = [name for name, what in event.data.get("kept", {}).items() if what == "intermediate"]
        kept = [name for name in kept if _depends_on_input(flow, row, event, name)]
        if kept and any(row in flow.reached_by(run).calls for run in twice):
            yield _constant_case(event, kept[0])


def _depends_on_input(flow: Flow, row: int, event: Event, name: str) -> bool:
    """Whether what forward stored on ctx was computed from its inputs, in floating point; random masks are not."""
    inputs = set(event.data.get("inputs", ()))
    for call in _calls_of_forward(flow, row, event):
        data = flow.events[call].data
        spelled = data.get("output_names") or []
        if name in (one.rpartition(".")[2] for one in spelled):
            made = data["outputs"][0]
            floating = flow.facts(made).floating
            return floating and bool(flow.behind([made], call + 1, gradients=False).tensors & inputs)
    return True


def _calls_of_forward(flow: Flow, row: int, event: Event) -> Iterator[int]:
    """Yield the calls that a Function's forward made, last first; its own event comes when it is over."""
    defined = tuple(event.data.get("forward_line") or ())
    for call in range(row - 1, -1, -1):
        if flow.events[call].kind in CALLS:
            if not any((line.file, line.function) == (*defined[:1], *defined[2:]) for line in flow.lines(call)):
                return
            yield call


def _constant_case(event: Event, name: str) -> Case:
    """Return the case of one value that counts as a constant."""
    line, defined = event.data.get("kept_lines", {}).get(name), event.data.get("forward_line") or []
    source = SourceLine(defined[0], line, defined[2]) if line and len(defined) == 3 else event.source
    return Case(
        kind="wrong-double-backward",
        message=f"{event.op}.forward keeps the intermediate ctx.{name}{at(source)}; in double backward it counts as a "
        "constant, so the second derivative lacks a term.",
        remedy=f"compute {name} anew in backward from saved inputs, or return it as an output and save it",
        source=source,
        op=event.op,
    )
