"""Writes events of custom Functions and checkpointed blocks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ...program.frames import is_foreign, is_users
from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Watch
from ..function_facts import code_of, definition, kept_on_ctx

# Writes events of checkpointed blocks: their forward, and their recomputation.


class Checkpoints(threading.local):
    """The running blocks of each thread."""

    def __init__(self) -> None:
        self._running: list[list[tuple[Watch, int, Event]]] = []
        """Innermost last: recordings, indices and events of their beginnings."""

    def begin(
        self, watches: Iterable[Watch], action: str, data: dict[str, Any], line: SourceLine | None, run: int | None
    ) -> None:
        """Note that a block begins (``"forward"``), or is recomputed (``"recompute"``)."""
        self._running.append([(watch, *_send(watch, action, data, line, run)) for watch in watches])

    def end(self, data: dict[str, Any], line: SourceLine | None, run: int | None) -> None:
        """Note that it has ended: both events get the range of events between them."""
        for watch, row, begun in self._running.pop() if self._running else ():
            end, ended = _send(watch, "ended", data, line, run)
            for event in (begun, ended):
                event.data["first"], event.data["end"] = row + 1, end


def _send(
    watch: Watch, action: str, data: dict[str, Any], line: SourceLine | None, run: int | None
) -> tuple[int, Event]:
    during = {} if run is None else {"run": run}
    event = Event("checkpoint", "checkpoint", line, {"action": action, **data, **during})
    return watch.sink(event), event


# Writes events of custom Functions: arguments, results, saved tensors, and what their backward returned.


class Applied(NamedTuple):
    """An applied Function."""

    cls: Any
    args: Sequence[Any]
    outputs: Sequence[Any]
    """Tensors among the results."""
    changed: Sequence[Any]
    """Tensors among the arguments that forward wrote into, and did not return."""
    ctx: Any
    """The context object; None if there will be no backward."""
    node: int | None
    """Number of its node, relative to the beginning of the recording."""


class Functions:
    """Sends the Functions of one engine; how those of libraries are written is of no interest to the user."""

    def __init__(self, tensor: type, rule_of: Callable[[Any], Any]) -> None:
        """``tensor`` is the class of all tensors; ``rule_of`` returns the backward rule of a class."""
        self._tensor, self._rule_of = tensor, rule_of

    def is_reported(self, cls: Any) -> bool:
        """Whether uses of a Function are reported: the engine's own are not."""
        code = code_of(cls.forward)
        return code is not None and not is_foreign(code)

    def is_users(self, cls: Any) -> bool:
        """Whether the user wrote a Function, so that its source is reported."""
        code = code_of(cls.forward)
        return code is not None and is_users(code)

    def applied(self, watch: Watch, one: Applied, run: int | None, line: SourceLine | None) -> None:
        """Send that a Function was applied."""
        own, outputs = self.is_users(one.cls), list(one.outputs)
        inputs = [value for value in one.args if isinstance(value, self._tensor)]
        given, made = watch.numbers(inputs, line), watch.numbers(outputs, line)
        data: dict[str, Any] = {"action": "forward", "inputs": given, "outputs": made}
        data |= {"argument_count": len(one.args), "shapes": self._shapes(one.args)}
        if own:
            data |= self._definition(one.cls)
            data |= {} if one.ctx is None else kept_on_ctx(one.ctx, one.cls, self._tensor, inputs, outputs)
        data["mutated"] = watch.numbers(one.changed, line) if own else []
        if one.node is not None:
            data["node"] = one.node
        row = self._send(watch, one.cls, line, data, run)
        for tensor, number in zip(outputs, made, strict=True):
            if number not in given:  # seen when forward made it, as a tensor without history
                facts = watch.sink.tensors[number]
                facts.made_by, facts.requires_grad, facts.leaf = row, tensor.requires_grad, tensor.is_leaf

    def returned(
        self, watch: Watch, cls: Any, node: int, arguments: int, returned: Any, run: int | None, *, spread: bool
    ) -> None:
        """Send what a user's backward rule returned, for so many arguments of forward.

        ``spread``: entries of its incoming gradient share memory.
        """
        gradients = list(returned) if isinstance(returned, tuple) else [returned]
        data: dict[str, Any] = {"action": "backward", "node": node, "argument_count": arguments}
        data |= {"gradient_count": len(gradients), "gradient_shapes": self._shapes(gradients)}
        if spread:
            data["spread"] = True
        data |= self._definition(cls)
        line = data.get("backward_line")
        self._send(watch, cls, None if line is None else SourceLine(*line), data, run)

    def _definition(self, cls: Any) -> dict[str, Any]:
        return definition(cls.forward, self._rule_of(cls), cls.setup_context)

    def _shapes(self, values: Sequence[Any]) -> list[list[int] | None]:
        tensor: Any = self._tensor
        return [list(map(int, one.shape)) if isinstance(one, tensor) else None for one in values]

    def _send(self, watch: Watch, cls: Any, line: SourceLine | None, data: dict[str, Any], run: int | None) -> int:
        during = {} if run is None else {"run": run}
        return watch.sink(Event("function", cls.__name__, line, data | during))
