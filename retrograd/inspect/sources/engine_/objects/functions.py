"""Observes custom Functions: their arguments, saved tensors and results."""

from __future__ import annotations

import sys
from typing import Any

from .....engine.aliasing.views import has_history, requires_grad
from .....engine.function.node import user_backward
from .....engine.tensors.base import TensorBase
from ....events import Event
from ....program.frames import is_foreign, is_users, source_line, user_frame
from ....snapshot import SourceLine
from ...function_facts import code_of, definition, kept_on_ctx
from ..watching import Observer, Watching, guarded, version
from .replay import read_tensor


class Functions(Observer):
    """Sends ``function`` for Functions of the user; those of the engine are its own business."""

    def __init__(self, watching: Watching) -> None:
        super().__init__(watching)
        self._versions: dict[int, list[int]] = {}
        """By id of a node whose forward is running: versions of its inputs."""

    @guarded
    def function_began(self, node: Any, args: Any) -> None:
        """A forward is about to run."""
        if not self.watching.here.forwards and node._edges:
            self._keep(node._forward_cls, args)
        self.watching.here.forwards += 1
        self._versions[id(node)] = [version(t) for t in args if isinstance(t, TensorBase)]

    def _keep(self, cls: Any, args: Any) -> None:
        """Keep the call for a comparison with finite differences, if there is to be one."""
        kept_calls, code = self.watching.sink.kept_calls, code_of(cls.forward)
        if kept_calls is not None and self.watching.wants("full") and code is not None and is_users(code):
            kept_calls.offer("retrograd", cls, (args, {}), read_tensor)

    @guarded
    def function_left(self, node: Any) -> None:
        """A forward returned or raised."""
        self.watching.here.forwards = max(0, self.watching.here.forwards - 1)

    @guarded
    def function_ended(self, node: Any, args: Any, results: Any) -> None:
        """A Function was applied."""
        before = self._versions.pop(id(node), [])
        cls = node._forward_cls
        code = code_of(cls.forward)
        if code is None or is_foreign(code):
            return
        watching = self.watching
        line = source_line(user_frame(sys._getframe(1)))
        inputs = [t for t in args if isinstance(t, TensorBase)]
        outputs = [t for t in results if isinstance(t, TensorBase)]
        given = [watching.number(t, line) for t in inputs]
        data: dict[str, Any] = {"action": "forward", "inputs": given}
        data["outputs"] = [watching.number(t, line) for t in outputs]
        data["argument_count"] = len(args)
        data["shapes"] = [list(a._sig.shape) if isinstance(a, TensorBase) else None for a in args]
        if node._edges:
            data["node"] = node._number - watching.begin
        own = is_users(code)  # how a Function of a library is written is no business of the user
        if own:
            data |= _definition(cls) | kept_on_ctx(node, cls, TensorBase, inputs, outputs)
        dirty = {id(t) for t in node.dirty_tensors or ()}
        data["mutated"] = [
            number
            for t, number, was in zip(inputs, given, before, strict=False)
            if own and version(t) != was and id(t) not in dirty
        ]
        if watching.run is not None:
            data["run"] = watching.run.number
        row = self._send(cls, line, data)
        for t in outputs:  # seen when forward made it, as a tensor without history
            if not any(t is one for one in inputs):
                facts = watching.sink.tensors[watching.number(t)]
                facts.made_by, facts.requires_grad, facts.leaf = row, requires_grad(t), not has_history(t)

    @guarded
    def function_backward(self, node: Any, grads: Any, given: Any) -> None:
        """The user's backward returned, before anything is checked."""
        cls = node._forward_cls
        code = code_of(cls.forward)
        if code is None or not is_users(code):
            return
        returned = list(given) if isinstance(given, tuple) else [given]
        data: dict[str, Any] = {
            "action": "backward",
            "node": node._number - self.watching.begin,
            "argument_count": len(node._is_tensor_input),
            "gradient_count": len(returned),
            "gradient_shapes": [list(g._sig.shape) if isinstance(g, TensorBase) else None for g in returned],
        }
        if self.watching.run is not None:
            data["run"] = self.watching.run.number
        definition = _definition(cls)
        line = definition.get("backward_line")
        self._send(cls, None if line is None else SourceLine(*line), data | definition)

    def _send(self, cls: Any, line: SourceLine | None, data: dict[str, Any]) -> int:
        return self.watching.send(Event("function", cls.__name__, line, data))


def _definition(cls: Any) -> dict[str, Any]:
    """Where forward and backward are written, and what forward calls its arguments."""
    try:
        backward = user_backward(cls)
    except RuntimeError:
        backward = None
    return definition(cls.forward, backward, cls.setup_context)
