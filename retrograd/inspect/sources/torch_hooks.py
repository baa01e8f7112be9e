"""Follows the hooks of a PyTorch program: registered where, run how often, changing what they were given."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

from ..events import Event
from ..snapshot import SourceLine
from .torch_calls import unseen, version_of


class Heard:
    """Stands for a hook on a tensor and reports when it runs; the original is put back when the watch ends."""

    def __init__(self, hook: Any, report: Callable[[bool, bool], None]) -> None:
        self.hook = hook
        self.report: Callable[[bool, bool], None] | None = report

    def __call__(self, given: Any) -> Any:
        before, result = version_of(given), None
        try:
            result = self.hook(given)
            return result
        finally:  # one that raises has run, too
            if self.report is not None:
                unseen(self.report, version_of(given) != before, result is not None)


class Hooks:
    """The hooks on tensors of one recording."""

    def __init__(self, sink: Any, run: Callable[[], int | None]) -> None:
        self._sink = sink
        self._run = run
        self._placed: list[tuple[weakref.ref[Any], int, Heard]] = []

    def registered(self, kind: str, tensor: Any, number: int, handle: Any, line: SourceLine | None) -> None:
        """A hook was registered: report it, and listen to it."""
        key = getattr(handle, "id", None)
        attribute = "_backward_hooks" if kind == "tensor" else "_post_accumulate_grad_hooks"
        holder = getattr(tensor, attribute, None)
        if key is None or not holder or key not in holder:
            return
        hook = holder[key]
        name = str(getattr(hook, "__qualname__", None) or getattr(hook, "__name__", None) or type(hook).__name__)
        told = {"handle": key, "tensor": number, "hook": name}
        self._sink(Event("hook", op=kind, source=line, data={"action": "registered", **told}))

        def ran(in_place: bool, returned: bool) -> None:
            data: dict[str, Any] = {"action": "ran", **told, "returned": returned}
            if in_place and kind == "tensor":
                data["in_place"] = True
            run = self._run()
            if run is not None:
                data["run"] = run
            self._sink(Event("hook", op=kind, source=line, data=data))

        heard = holder[key] = Heard(hook, ran)
        self._placed.append((weakref.ref(holder) if _can_refer(holder) else weakref.ref(tensor), key, heard))

    def close(self) -> None:
        """Put the program's own hooks back."""
        for reference, key, heard in self._placed:
            heard.report = None
            holder = reference()
            if isinstance(holder, sys.modules["torch"].Tensor):
                holder = holder._backward_hooks
            if holder and holder.get(key) is heard:
                holder[key] = heard.hook
        self._placed.clear()


def _can_refer(holder: Any) -> bool:
    """Whether an object can be referred to weakly; an ``OrderedDict`` can."""
    try:
        weakref.ref(holder)
    except TypeError:
        return False
    return True
