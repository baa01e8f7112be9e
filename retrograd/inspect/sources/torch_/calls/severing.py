"""Observes, at every level, the calls of PyTorch that cut a gradient, and those that use the values afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....operators import Trait
from ....program.frames import source_line, user_frame
from ....program.modules import attributes_of, inner_modules
from ...origins import Marks
from ...severed import Causes, Severed, SeveredTensors, Taken, address_of
from ..library import LIBRARY
from ..own_work import own_work
from .rules import Rule

_HEARD = ("operation", "cut")
_WORDS = {"tensor": "tensor()"}
_HOLDERS = (list, tuple)
_MOST = 1_000
"""Entries of a list among arguments or results that are examined."""
_MOST_TAKEN = 100_000
"""Nodes of a thread that are known to have used severed values; then the older half is dropped."""


class Severing:
    """Called by a mode after each call; it examines plain tensors only, for others run code of the program."""

    def __init__(self, table: SeveredTensors) -> None:
        torch: Any = LIBRARY.torch
        self._table = table
        self.known = table.known
        """Tensors that are severed now; if there are none, most calls can be ignored."""
        self._plain = frozenset({torch.Tensor, torch.nn.Parameter})
        self._has_grad: Callable[[], bool] = torch.is_grad_enabled
        self._is_inference: Callable[[], bool] = torch.is_inference_mode_enabled

    @property
    def listens(self) -> bool:
        """Whether calls inside a module of the library must be observed: it may use severed values."""
        return bool(self.known) and self._has_grad()

    def passed(self, module: Any, args: Any, output: Any, marks: Marks) -> None:
        """Note a module that was called with gradients off: its results are cut by that."""
        plain = self._plain
        left = [one for one in _results(output) if type(one) in plain]
        if not left or self._has_grad():
            return
        with own_work():
            given = list(_entries(args, {}))
            causes = self._table.causes(given)
            if any(one.requires_grad for one in left) or not (causes or self._could_require(module, given)):
                return
            frame = user_frame(getframe(2)) if marks.settled is None else marks.settled.frame
            self._table.add(left, causes or (Severed(self._off(), source_line(frame), -1),))

    def _could_require(self, module: Any, given: list[Any]) -> bool:
        """Whether something that was passed to a module, or that it holds, requires a gradient."""
        held = (attributes_of(inner).get("_parameters", {}).values() for _, inner in inner_modules(module))
        return any(type(one) in self._plain and one.requires_grad for one in chain(given, chain.from_iterable(held)))

    def after_call(
        self, rule: Rule, args: Any, kwargs: Any, result: Any, marks: Marks, before: int, frame: FrameType | None
    ) -> None:
        """Handle a call that has returned; ``before`` was the counter of nodes, which ``marks`` knows by now."""
        made = marks.end > before
        if (made and not self.known and type(result) in self._plain) or rule.kind not in _HEARD:
            return
        given = list(_entries(args, kwargs))
        with own_work():
            if made:
                self._taken(given, result, rule, marks, frame, before)
            else:
                first = args[0] if args else next(iter(kwargs.values()), None)
                self._left(given, first, result, rule, marks, frame)

    def _taken(
        self, given: list[Any], result: Any, rule: Rule, marks: Marks, frame: FrameType | None, before: int
    ) -> None:
        """Handle a call that made nodes: note operands without a gradient, and integer results besides the values."""
        plain = self._plain
        causes = self._table.causes([one for one in given if type(one) not in plain or not one.requires_grad])
        if causes:
            marks.severed[marks.end - 1] = Taken(before, causes)
            if len(marks.severed) > _MOST_TAKEN:
                for number in list(marks.severed)[: _MOST_TAKEN // 2]:
                    del marks.severed[number]
        if type(result) in plain:
            return
        left = [one for one in _results(result) if _may_go_on(one, plain) and not _is_float(one)]
        if left := self._not_viewing(given, left):
            self._table.add(left, (self._cause(rule.written or rule.op, given, left, marks, frame),))

    def _left(
        self, given: list[Any], first: Any, result: Any, rule: Rule, marks: Marks, frame: FrameType | None
    ) -> None:
        """Handle a call without nodes: note its results, if an operand had a gradient or could have had one."""
        plain, table = self._plain, self._table
        causes: Causes = table.causes(given) if self.known else ()
        if causes and type(result) in plain and result is not first and not (self._has_grad() or rule.reason):
            if not result.requires_grad:
                table.add((result,), causes)
            return
        required = any(one.requires_grad for one in given if type(one) in plain)
        if not (causes or required) or (rule.operator.is_a(Trait.CREATION) and not causes):
            return
        written = first if result is None and rule.operator.is_a(Trait.WRITING) else None
        left = [one for one in _results(result if written is None else written) if _may_go_on(one, plain)]
        has_grad = self._has_grad()
        if not left or (not has_grad and any(one is first for one in left)):
            return  # an update in place, which is not meant to have a gradient
        if causes:
            table.add(left, causes)
        is_new = required and (has_grad or rule.kind == "cut" or not causes)
        if fresh := self._not_viewing(given, left) if is_new else []:
            word = _WORDS.get(rule.reason or rule.op, rule.reason) if rule.kind == "cut" else self._word(rule, has_grad)
            table.add(fresh, (*causes, self._cause(word, given, left, marks, frame)))

    def _not_viewing(self, given: list[Any], left: list[Any]) -> list[Any]:
        """Return the results that are not views of operands without a gradient."""
        plain = self._plain
        memories = {address_of(one) for one in given if type(one) in plain and not one.requires_grad} if left else set()
        memories.discard(0)
        return [one for one in left if type(one) not in plain or address_of(one) not in memories]

    def _word(self, rule: Rule, has_grad: bool) -> str:
        """Return what cut the gradient in a call that is not itself a cut."""
        return (rule.written or rule.op) if has_grad else self._off()

    def _off(self) -> str:
        """Return what switched gradients off."""
        return "inference_mode" if self._is_inference() else "no_grad"

    def _cause(
        self, word: str, given: list[Any], left: Sequence[Any], marks: Marks, frame: FrameType | None
    ) -> Severed:
        """Return what a call did to the first of its tensors with a gradient."""
        source = next((one for one in given if type(one) in self._plain and one.requires_grad), None)
        settled = marks.settled
        line = source_line(user_frame(frame) if settled is None else settled.frame)
        gated = all(type(one) in self._plain and str(one.dtype) == "torch.bool" for one in left)
        return Severed(word, line, -1 if source is None else _number(source), gated)


def _number(tensor: Any) -> int:
    """Return the number of the node that made a tensor; asking a view that was written to would make one."""
    if tensor.is_leaf or (tensor._is_view() and tensor._version):
        return -1
    return int(tensor.grad_fn._sequence_nr())


def _is_float(thing: Any) -> bool:
    """Whether an object has values that could have a gradient."""
    return type(thing) is float or (hasattr(thing, "is_complex") and (thing.is_floating_point() or thing.is_complex()))


def _may_go_on(thing: Any, plain: frozenset[type]) -> bool:
    """Whether a result can be used again: a tensor without a gradient, a number or an array."""
    kind = type(thing)
    if kind in plain:
        return not thing.requires_grad
    return kind is float or kind.__name__ == "ndarray"


def _entries(args: Any, kwargs: Any) -> Iterator[Any]:
    """Yield arguments, and the entries of lists among them."""
    for one in chain(args, kwargs.values()) if kwargs else args:
        if type(one) in _HOLDERS:
            yield from one[:_MOST]
        else:
            yield one


def _results(result: Any) -> Sequence[Any]:
    """Return results as a list."""
    return result[:_MOST] if isinstance(result, _HOLDERS) else (result,)
