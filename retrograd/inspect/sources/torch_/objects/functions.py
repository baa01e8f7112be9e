"""Records when PyTorch's custom Functions are applied and when their backward rules return."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from ....events import Event
from ....program.frames import is_foreign, is_users, leave_no_frame, source_line, user_frame
from ....snapshot import SourceLine
from ...function_facts import code_of, definition, kept_on_ctx
from ...origins import Marks
from ..calls.calls import Inside, is_traced, unseen_version_of, version_of
from ..calls.tensors import number_of
from ..library import LIBRARY
from ..problems import unseen
from .replay import TensorReader


def applied_in_c() -> bool:
    """Whether ``Function.apply`` has no frame of its own by which it is told who applied a Function (from 2.14 on)."""
    return not isinstance(vars(LIBRARY.torch.autograd.Function).get("apply"), classmethod)


class Functions:
    """Reports to every recording of level ``backward`` or ``full`` that watches the thread."""

    def __init__(
        self, watches: Callable[[], Iterable[Any]], marks: Callable[[], Marks], inside: Callable[[], Inside]
    ) -> None:
        self._torch: Any = LIBRARY.torch
        self._watches = watches
        self._marks = marks
        self._inside = inside
        self._original: Any = None
        self._active = True
        self._reader = TensorReader()

    def install(self) -> None:
        """Put the wrapper of ``apply`` in place."""
        function = self._torch.autograd.Function
        original = self._original = function.__dict__["apply"]

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._active or is_traced():
                return original.__get__(None, cls)(*args, **kwargs)
            try:
                return self._apply(cls, args, kwargs)
            except BaseException as error:
                leave_no_frame(error)
                raise

        apply.__doc__ = original.__get__(None, function).__doc__
        self._wrapper = classmethod(apply)
        function.apply = self._wrapper

    def uninstall(self) -> None:
        """Put back what was there, unless it has been replaced by someone else meanwhile."""
        self._active = False
        function = self._torch.autograd.Function
        if function.__dict__.get("apply") is self._wrapper:
            function.apply = self._original

    def _apply(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Stand in for ``Function.apply``: keep the call, count how deep Functions are nested, report the outermost."""
        inside = self._inside()
        tensors = [one for one in args if isinstance(one, self._torch.Tensor)]
        versions = [unseen_version_of(one) for one in tensors]
        if inside.functions == 0:
            unseen(self._keep, cls, args, kwargs)
        inside.functions += 1
        try:
            result = self._original.__get__(None, cls)(*args, **kwargs)
        finally:
            inside.functions -= 1
        if inside.functions == 0:
            unseen(self._applied, cls, args, tensors, versions, result, sys._getframe(1))
        return result

    def _keep(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep the call for the recordings that will compare it with finite differences."""
        for watch in self._watches():
            kept_calls, code = watch.sink.kept_calls, code_of(cls.forward)
            if kept_calls is None or watch.level != "full" or code is None or not is_users(code):
                continue
            if any(isinstance(one, self._torch.Tensor) and not one.is_cpu for one in args):
                watch.sink.missed("functions", cls.__name__)  # its kernels may be of that device alone
            elif self._reader.opens():
                kept_calls.offer("torch", cls, (args, kwargs), self._reader)

    def _applied(
        self, cls: Any, args: Any, tensors: list[Any], versions: list[int], result: Any, caller: FrameType
    ) -> None:
        """Report a Function that was applied; how one of a library is written is no business of the user."""
        code = code_of(cls.forward)
        if code is None or is_foreign(code):
            return
        frame = user_frame(caller)
        tensor = self._torch.Tensor
        outputs = [one for one in (result if isinstance(result, tuple) else (result,)) if isinstance(one, tensor)]
        node = next((one.grad_fn for one in outputs if one.requires_grad), None)
        data: dict[str, Any] = {"action": "forward", "argument_count": len(args)}
        data["shapes"] = [list(one.shape) if isinstance(one, tensor) else None for one in args]
        own = is_users(code)
        if own:
            data |= definition(cls.forward, _rule(cls), cls.setup_context)
        if isinstance(node, cls._backward_cls):
            data["node"] = node._sequence_nr() - self._marks().begin
            data |= kept_on_ctx(node, cls, self._torch.Tensor, tensors, outputs) if own else {}
        kept = {id(one) for one in outputs}
        changed = [
            one
            for one, before in zip(tensors, versions, strict=True)
            if own and version_of(one) != before and id(one) not in kept
        ]
        for watch in self._watches():
            self._send(watch, cls.__name__, source_line(frame), data, (tensors, outputs, changed))

    def _send(self, watch: Any, name: str, line: SourceLine | None, data: Any, groups: tuple[Any, ...]) -> None:
        """Send one recording its event, with its numbers of the tensors."""
        table = watch.sink.tensors
        numbers = [[number_of(table, one, source=line) for one in group] for group in groups]
        run = self._inside().run
        more = {} if run is None else {"run": run}
        filled = {**data, **more, "inputs": numbers[0], "outputs": numbers[1], "mutated": numbers[2]}
        row = watch.sink(Event("function", op=name, source=line, data=filled))
        for one, number in zip(groups[1], numbers[1], strict=True):
            if number not in numbers[0]:  # seen when forward made it, as a tensor without history
                facts = table[number]
                facts.made_by, facts.requires_grad, facts.leaf = row, one.requires_grad, one.is_leaf

    def wrap_rule(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make the way into backward rules report what they return."""

        def apply(node: Any, *grads: Any) -> Any:
            spread = any(0 in one.stride() and one.numel() > 1 for one in grads if type(one) is self._torch.Tensor)
            returned = original(node, *grads)
            unseen(self._returned, node, returned, spread)
            return returned

        return apply

    def _returned(self, node: Any, returned: Any, spread: bool) -> None:
        """Report what a backward rule of the user returned; ``spread``: entries of what it got share memory."""
        cls = node._forward_cls
        code = code_of(cls.forward)
        if code is None or not is_users(code):
            return
        entries = list(returned) if isinstance(returned, tuple) else [returned]
        tensor = self._torch.Tensor
        data: dict[str, Any] = {"action": "backward", "node": node._sequence_nr() - self._marks().begin}
        data["argument_count"], data["gradient_count"] = len(node.needs_input_grad), len(entries)
        if spread:
            data["spread"] = True
        data["gradient_shapes"] = [list(one.shape) if isinstance(one, tensor) else None for one in entries]
        data |= definition(cls.forward, _rule(cls), cls.setup_context)
        run = self._inside().run
        if run is not None:
            data["run"] = run
        line = data.get("backward_line")
        for watch in self._watches():
            source = None if line is None else SourceLine(*line)
            watch.sink(Event("function", op=cls.__name__, source=source, data=dict(data)))


def _rule(cls: Any) -> Any:
    """Return the user's backward rule, whichever of its two names it has."""
    function = LIBRARY.torch.autograd.Function
    return cls.vjp if cls.backward is function.backward else cls.backward
