"""Observes custom Functions and checkpointed blocks."""

from __future__ import annotations

from typing import Any

from .....engine.core.base import TensorBase
from .....engine.function.node import user_backward
from .....interpreter import getframe
from ....program.frames import source_line, user_frame
from ...object_numbers import ObjectNumbers
from ...writers import functions
from ..watching import Observer, Watching, guarded, version
from .replay import read_tensor

# Observes custom Functions: their arguments, saved tensors and results.


class Functions(Observer):
    """Sends ``function`` for the user's Functions, not for the engine's own."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._writer = functions.Functions(TensorBase, _rule_of)
        self._versions: dict[int, list[int]] = {}
        """By id of a node whose forward is running: versions of its inputs."""

    @guarded
    def function_began(self, node: Any, args: Any) -> None:
        """Note that a forward is about to run."""
        if not self.watching.here.forwards and node._edges:
            self._keep(node._forward_cls, args)
        self.watching.here.forwards += 1
        self._versions[id(node)] = [version(t) for t in args if isinstance(t, TensorBase)]

    def _keep(self, cls: Any, args: Any) -> None:
        """Keep the call for a comparison with finite differences, if there is to be one."""
        kept_calls = self.watching.sink.kept_calls
        if kept_calls is not None and self.watching.wants("full") and self._writer.is_users(cls):
            kept_calls.offer("retrograd", cls, (args, {}), read_tensor)

    @guarded
    def function_left(self, node: Any) -> None:
        """Note that a forward returned or raised."""
        self.watching.here.forwards = max(0, self.watching.here.forwards - 1)

    @guarded
    def function_ended(self, node: Any, args: Any, results: Any) -> None:
        """Note that a Function was applied."""
        before = self._versions.pop(id(node), [])
        if not self._writer.is_reported(node._forward_cls):
            return
        inputs = [t for t in args if isinstance(t, TensorBase)]
        outputs = [t for t in results if isinstance(t, TensorBase)]
        returned = set(map(id, outputs))
        written = zip(inputs, before, strict=False)
        changed = [t for t, was in written if version(t) != was and id(t) not in returned]
        number = node._number - self.watching.begin if node._edges else None
        applied = functions.Applied(node._forward_cls, args, outputs, changed, node, number)
        line = source_line(user_frame(getframe(1)))
        self._writer.applied(self.watching, applied, self.watching.run_number, line)

    @guarded
    def function_backward(self, node: Any, grads: Any, given: Any) -> None:
        """Note that the user's backward returned; nothing is checked yet."""
        if self._writer.is_users(node._forward_cls):
            number, count = node._number - self.watching.begin, len(node._is_tensor_input)
            run = self.watching.run_number
            spread = any(isinstance(g, TensorBase) and g.numel() > 1 and 0 in g._array.strides for g in grads)
            self._writer.returned(self.watching, node._forward_cls, number, count, given, run, spread=spread)


def _rule_of(cls: Any) -> Any:
    """Return the user's backward rule, or None."""
    try:
        return user_backward(cls)
    except RuntimeError:
        return None


# Observes checkpointed blocks: their forward, and when they are computed again.


class Checkpoints(Observer):
    """Sends ``checkpoint``."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._blocks = ObjectNumbers()
        self._writer = functions.Checkpoints()

    @guarded
    def checkpoint(self, action: str, frame: Any) -> None:
        """Note that a block begins, is recomputed, or has ended."""
        region = getattr(frame.function, "__self__", None)  # the call of ``checkpoint`` that it belongs to
        function = getattr(region, "function", frame.function)
        name = str(getattr(function, "__qualname__", type(function).__name__))
        data: dict[str, Any] = {"block": self._blocks.of(frame), "function": name}
        line, run = source_line(user_frame(getframe(1))), self.watching.run_number
        if action == "ended":
            self._writer.end(data, line, run)
            return
        if action == "forward":
            data["keeps_random_state"] = getattr(region, "keeps_random_state", True)
        self._writer.begin((self.watching,), action, data, line, run)
