"""Observes, at every level, the calls of our engine that cut a gradient, and those that use the values afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import Any

from .....engine.aliasing.views import gradient_edge, has_history, requires_grad
from .....engine.core.base import TensorBase
from .....engine.nodes.node import edge_parts
from .....engine.switches.state import STATE
from .....interpreter import getframe
from ....operators import Trait, operator
from ....program.frames import source_line
from ...severed import Severed, SeveredTensors, Taken
from ..backward.lines import Lines
from ..watching import Observer, Watching, guarded
from .caller import caller_of, spelled

_PLAIN = (TensorBase, float)


class Severing(Observer):
    """Follows values that have left the graph until a call with a gradient uses them."""

    def __init__(self, watching: Watching, lines: Lines) -> None:
        super().__init__(watching)
        self._lines = lines

    def operation(self, op: Any, args: Any, node: Any, inputs: Any, outputs: Any, took: int) -> None:
        """Note that an operator ran."""
        tables = self._lines.tables
        if tables is not None and (node is None or tables.severed.known):
            self._operation(op, args, node, inputs, outputs, getframe(2))

    @guarded
    def _operation(self, op: Any, args: Any, node: Any, inputs: Any, outputs: Any, frame: FrameType) -> None:
        """Note operands without a gradient, or results without one."""
        here, tables = self.watching.here, self._lines.tables
        if tables is None or (here.runs and not STATE.grad_enabled) or here.forwards:
            return
        given = _within(args)
        if node is None:
            self._left(tables.severed, op, args, inputs, [one for one in outputs if not requires_grad(one)], frame)
        elif causes := tables.severed.causes(
            [one for one in given if isinstance(one, float) or not requires_grad(one)]
        ):
            tables.here().severed[node._number] = Taken(node._number, causes)

    def _left(self, severed: SeveredTensors, op: Any, args: Any, inputs: Any, left: Any, frame: FrameType) -> None:
        """Note the results of a call without a node, if an operand had a gradient or could have one."""
        causes = severed.causes(_within(args)) if severed.known else ()
        source = next((one for one in inputs if requires_grad(one)), None)
        made_anew = operator(spelled(op.name)).is_a(Trait.CREATION)
        if not left or not (causes or (source is not None and not made_anew)):
            return
        if source is not None and (STATE.grad_enabled or not causes):
            caller = caller_of(frame)
            if caller.internal or (not STATE.grad_enabled and any(one is args[0] for one in left)):
                return  # an update in place, which is not meant to have a gradient
            word = caller.function or spelled(op.name)
            if not STATE.grad_enabled:
                word = "inference_mode" if STATE.inference else "no_grad"
            gated = all(one._array.dtype.kind == "b" for one in left)
            causes = (*causes, Severed(word, source_line(caller.frame), _number(source), gated))
        severed.add(left, causes)

    @guarded
    def cut(self, reason: str, t: TensorBase, result: Any) -> None:
        """Note that a value was taken out of the graph."""
        tables = self._lines.tables
        if tables is None or result is None or self.watching.here.runs:
            return
        caller = caller_of(getframe(3))
        left = [result] if isinstance(result, _PLAIN) or hasattr(result, "__array_interface__") else []
        if not left or caller.internal or caller.frame is None or (caller.function and reason != "copy"):
            return  # a function of ours reads a value for itself
        causes = tables.severed.causes([t])
        if requires_grad(t):
            causes = (*causes, Severed(reason.rstrip("_"), source_line(caller.frame), _number(t)))
        if causes:
            tables.severed.add(left, causes)


def _number(t: TensorBase) -> int:
    """Return the number of the node that made a tensor, -1 for a leaf."""
    return int(edge_parts(gradient_edge(t))[0]._number) if has_history(t) else -1


def _within(args: Iterable[Any]) -> list[Any]:
    """Return tensors and numbers among arguments, including those in lists."""
    found = []
    for one in args:
        found += [entry for entry in one[:1000] if isinstance(entry, _PLAIN)] if isinstance(one, (list, tuple)) else []
        if isinstance(one, _PLAIN):
            found.append(one)
    return found
