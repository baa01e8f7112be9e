"""One direction of a recurrent layer over packed data: the batch shrinks as sequences end."""

from __future__ import annotations

from typing import Any

from ....table.registry import F
from .linear import linear


def run_packed(step: Any, data: Any, sizes: list[int], state: Any, params: Any, *, backwards: bool) -> tuple[Any, Any]:
    """Outputs, packed like ``data``, and the last state of each sequence; ``state`` has one row per sequence."""
    gates = F._split_with_sizes(linear(data, params[0], params[2]), tuple(sizes), 0)
    run = _from_the_end if backwards else _from_the_start
    outputs, final = run(step, gates, sizes, state, params)
    return F.cat(outputs, 0), final


def _rows(state: Any, start: int, end: int) -> Any:
    return tuple(F._slice(s, 0, start, end, 1) for s in state)


def _joined(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else tuple(F.cat(list(same), 0) for same in zip(*parts, strict=True))


def _from_the_start(step: Any, gates: Any, sizes: list[int], state: Any, params: Any) -> tuple[list[Any], Any]:
    outputs, ended, have = [], [], sizes[0]
    for gate, n in zip(gates, sizes, strict=True):
        if n < have:
            ended.append(_rows(state, n, have))
            state, have = _rows(state, 0, n), n
        state = step(gate, state, params)
        outputs.append(state[0])
    return outputs, _joined([state, *reversed(ended)])


def _from_the_end(step: Any, gates: Any, sizes: list[int], state: Any, params: Any) -> tuple[list[Any], Any]:
    first, outputs, have = state, [], sizes[-1]
    state = _rows(first, 0, have)
    for gate, n in zip(reversed(gates), reversed(sizes), strict=True):
        if n > have:
            state, have = _joined([state, _rows(first, have, n)]), n
        state = step(gate, state, params)
        outputs.append(state[0])
    return outputs[::-1], state
