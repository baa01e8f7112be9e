"""Checkpointed blocks that compute something else when backward computes them again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...operators import Trait, is_a
from ...program.places import SourceLine
from ...program.random_functions import FROM_ANY
from ...recording.events import Event
from ..base import Case, Check, Kind, Stage
from ..facts.call_inputs import draws_numbers, other_sums
from ..facts.flow import Flow
from ..facts.lines import call_text, calls_between, result_shapes, same_call, same_shapes
from ..text.words import at, listed, shape_text

KINDS = {"checkpoint-mismatch": Kind("recomputation differs from forward", "error", Stage.STATEMENT)}
_MISMATCH = ("different metadata", "recomputed values", "number of tensors was saved")
_STOPPED = "_StopRecomputationError"
"""PyTorch ends a recomputation with this exception as soon as it has what backward needs."""


def find(flow: Flow) -> Iterator[Case]:
    """Yield the case of a block that took another path when it was recomputed."""
    if flow.error_text and not any(word in flow.error_text.lower() for word in _MISMATCH):
        return
    blocks = {e.data.get("block"): e for _, e in flow.of_kind("checkpoint", action="forward")}
    for _, again in flow.of_kind("checkpoint", action="recompute"):
        first = blocks.get(again.data.get("block"))
        if first is None or first.data.get("mixed") or again.data.get("mixed"):
            continue
        mine, theirs = (_inside(flow, event) for event in (first, again))
        stopped = any(_STOPPED in str(event.data.get("error", "")) for event in theirs)
        theirs = [event for event in theirs if not event.data.get("error")]
        missing = [] if stopped or not flow.error_text else [None] * len(mine)
        for event, twin in zip(mine, [*theirs, *missing], strict=False):
            if twin is None or not (_same_call(first, again, event, twin) and same_shapes(flow, event, twin)):
                yield _by_chance(flow, first, event) or _block_case(flow, first, event, twin)
                return
            if other_sums(event, twin):
                random = draws_numbers(event) and first.data.get("keeps_random_state") is False
                value_case = _by_chance(flow, first, event) or _value_case(flow, first, again, event, twin)
                yield _random_case(first, event) if random else value_case
                return
        twins = [*theirs, *[None] * len(mine)]
        drawn = (event for event, twin in zip(mine, twins, strict=False) if not _repeats(flow, event, twin))
        draw = next(filter(draws_numbers, drawn), None)
        if draw is not None and first.data.get("keeps_random_state") is False:
            yield _random_case(first, draw)
            return


CHECK = Check("divergence", KINDS, find)


def _same_call(first: Event, again: Event, event: Event, twin: Event) -> bool:
    """Whether a call was made again.

    Code of a library has the line that called it: that of the checkpoint in forward, of backward in recomputation.
    """
    mine, theirs = event.source, twin.source
    if mine is not None and theirs is not None and mine.inside:
        return (event.op, mine.inside) == (twin.op, theirs.inside)
    of_library = mine == first.source and theirs == again.source
    return event.op == twin.op if of_library else same_call(event, twin)


def _inside(flow: Flow, event: Event) -> list[Event]:
    """Return the calls of a block; a recomputation detaches what nested blocks save, which forward does not."""
    calls = calls_between(flow, event.data.get("first", 0), event.data.get("end", len(flow.events)))
    return [call for call in calls if not is_a(call.op, Trait.READING)]


def _repeats(flow: Flow, event: Event, twin: Event | None) -> bool:
    """Whether a recomputed call had the same values; without statistics, unless it has its own generator."""
    sums = event.data.get("checksum") or [None]
    if twin is None or None in sums:
        return "generator=" in flow.spelling.text(event.source)
    return not other_sums(event, twin)


def _random_case(first: Event, event: Event) -> Case:
    """Return the case of a block that draws other random numbers when it is computed again."""
    function = first.data.get("function") or "the block"
    return Case(
        kind="checkpoint-mismatch",
        message=f"{function}, checkpointed{at(first.source)} with preserve_rng_state=False, draws random numbers in "
        f"{event.op}{at(event.source)}: the recomputation for backward draws others, so gradients belong to another "
        "forward.",
        remedy="leave preserve_rng_state=True, or draw outside the block and pass the numbers in",
        source=first.source,
        op=event.op,
    )


def _by_chance(flow: Flow, first: Event, event: Event) -> Case | None:
    """Return the case of a block that decides by a number which the checkpoint does not draw again as it was.

    The statement must stand above a line of the call that differs, in the same function.
    """
    function = first.data.get("function") or "the block"
    for line in flow.lines_of(event):
        if line == first.source:
            break
        for fragment in reversed(flow.spelling.statements(line)):
            drawn = _drawn_by(fragment.tree) if fragment.first >= _head(flow, line) else ""
            if drawn:
                source = SourceLine(line.file, fragment.first, line.function)
                return _chance_case(flow, first, source, function, drawn)
    return None


def _drawn_by(tree: ast.stmt) -> str:
    """Return the call by which a statement draws a random number, ``random.random()``, or nothing."""
    for part in ast.walk(tree):
        if isinstance(part, ast.Call) and FROM_ANY.search(f"{ast.unparse(part.func)}("):
            return ast.unparse(part)
    return ""


def _head(flow: Flow, line: SourceLine) -> int:
    """Return the line at which the function around a line begins, as far as it was kept."""
    above = (one for one in reversed(flow.spelling.statements(line)) if isinstance(one.tree, ast.FunctionDef))
    return next((one.first for one in above), 0)


def _chance_case(flow: Flow, first: Event, source: SourceLine, function: str, drawn: str) -> Case:
    """Return the case of a number that is drawn again."""
    return Case(
        kind="checkpoint-mismatch",
        message=f"{function}, checkpointed{at(first.source)}, draws {drawn}{at(source)}, and draws another number when "
        "it is recomputed for backward: a checkpoint keeps the state of PyTorch's generators, so gradients belong "
        "to another forward.",
        remedy=f"draw before the checkpoint and pass the number in, or draw it by torch.rand: {function} computes the "
        "same again then",
        source=source,
        op=drawn.partition("(")[0],
        explains_error=bool(flow.error_text),
    )


def _value_case(flow: Flow, first: Event, again: Event, event: Event, twin: Event) -> Case:
    """Return the case of a call that was made again and gave other values."""
    function = first.data.get("function") or "the block"
    sums = [next(one for one in call.data["checksum"] if one is not None) for call in (event, twin)]
    write, written = _written_between(flow, first, again, twin)
    if write is None:
        why = ""
        remedy = (
            f"make {function} depend on nothing but its inputs (no counters, no global state), and keep "
            "preserve_rng_state=True for random numbers such as dropout"
        )
    else:
        why = f", because {written} is written in between{at(write.source)}"
        remedy = f"update {written} after backward(), not between the forward pass and the recomputation"
    return Case(
        kind="checkpoint-mismatch",
        message=f"{function}, checkpointed{at(first.source)}, computed something else when it was recomputed for "
        f"backward: the result of {event.op}{at(event.source)} adds up to {sums[0]:.4g} in forward and to "
        f"{sums[1]:.4g} in the recomputation{why}, so gradients belong to another forward.",
        remedy=remedy,
        source=event.source if write is None else write.source,
        op=event.op if write is None else write.op,
        explains_error=bool(flow.error_text),
        evidence={"forward": sums[0], "recomputed": sums[1]},
    )


def _written_between(flow: Flow, first: Event, again: Event, twin: Event) -> tuple[Event | None, str]:
    """Return the first write between a block and its recomputation into a call's operand, and its name."""
    begin, end = first.data.get("first", 0), again.data.get("first", 0)
    writes = {
        row: tensor
        for tensor in twin.data.get("inputs", ())
        for row in flow.writes_into(tensor)
        if begin <= row < end and flow.events[row].source is not None
    }
    if not writes:
        return None, ""
    row = min(writes)
    return flow.events[row], flow.name(writes[row], twin.source)


def _block_case(flow: Flow, first: Event, event: Event, twin: Event | None) -> Case:
    """Return the case of the first call that differs."""
    function = first.data.get("function") or "the block"
    other = f"{twin.op}{at(twin.source)} with shape {_shapes(flow, twin)}" if twin else "nothing"
    return Case(
        kind="checkpoint-mismatch",
        message=f"{function} ran differently when its checkpoint recomputed it for backward: forward did "
        f"{call_text(event)}{at(event.source)} with shape {_shapes(flow, event)}, the recomputation did {other} in its "
        "place.",
        remedy=f"make {function} depend on nothing but its inputs: no counters, global state or randomness of its own",
        source=event.source,
        op=event.op,
        explains_error=bool(flow.error_text),
    )


def _shapes(flow: Flow, event: Event) -> str:
    """Return the shapes of a call's results as words."""
    return listed(map(shape_text, result_shapes(flow, event)))
