"""Sharded parameters: code that takes one process's shard for the whole, or the parameters from before sharding."""

from __future__ import annotations

from collections.abc import Iterator

from ...recording.events import Event
from ..base import Case, Check
from ..facts.flow import Flow
from ..text.words import at, named


def find(flow: Flow) -> Iterator[Case]:
    """Yield the cases of this family."""
    yield from _clipped_in_parts(flow)
    yield from _stepped_before(flow)


CHECK = Check("sharded", {}, find)


def _clipped_in_parts(flow: Flow) -> Iterator[Case]:
    """Yield the case of a norm that is computed from one process's shards of gradients."""
    sharded: dict[int, Event] = {}
    for _, event in flow.of_kind("wrapper", sharded=True):
        whole = event.data.get("dtensor") or event.data.get("strategy") == "NO_SHARD"
        if event.data.get("group_size", 1) > 1 and not whole:
            sharded.update(dict.fromkeys(event.data["inputs"], event))
    for _, event in flow.of_kind("clip"):
        wrapper = next((sharded[one] for one in event.data.get("inputs", ()) if one in sharded), None)
        if wrapper is not None and event.op == "clip_grad_norm_":
            yield Case(
                kind="unreduced-gradient",
                message=f"{event.op}{at(event.source)} takes the norm of the part of each gradient that this rank "
                f"holds: {wrapper.op} shards them, so every rank clips by another norm.",
                remedy=f"model.{event.op}(max_norm), the method of the wrapper, which adds up the norms of all ranks",
                source=event.source,
                op=event.op,
            )
            return


def _stepped_before(flow: Flow) -> Iterator[Case]:
    """Yield the case of an optimizer that got parameters before a wrapper replaced them."""
    stepped = [event for _, event in flow.of_kind("optimizer", action="step")]
    held = {leaf for event in stepped for leaf in event.data.get("parameters", {}).values()}
    for row, wrapper in flow.of_kind("wrapper", sharded=True):
        trained = [leaf for leaf in wrapper.data["inputs"] if flow.accumulated.get(leaf) and leaf not in held]
        for made_at, made in flow.of_kind("optimizer", action="made") if trained else ():
            steps = [event for event in stepped if event.data.get("owner") == made.data.get("owner")]
            leaves = set(made.data.get("parameters", {}).values())
            if made_at < row and steps and all(leaves <= set(event.data.get("without", ())) for event in steps):
                yield Case(
                    kind="optimizer-mismatch",
                    message=f"{made.data.get('name') or made.op}, made{at(made.source)}, was given parameters that "
                    f"{wrapper.op}{at(wrapper.source)} has replaced since: gradients arrive in "
                    f"{named(flow, trained)}, which no optimizer holds, and its steps change "
                    "nothing.",
                    remedy=f"make the optimizer after {wrapper.op}, of the parameters of the wrapped model",
                    source=made.source,
                    op=made.op,
                    subjects=frozenset(trained) | leaves,
                )
                return
