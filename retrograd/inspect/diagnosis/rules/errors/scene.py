"""Facts about an exception, as slots of its messages: ``{tensor}``, ``{made}``, ``{node}``."""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property

from ....operators import Trait, canonical, is_a
from ....program.places import SourceLine
from ....recording.events import Event
from ...facts.failures import Raised
from ...facts.flow import Flow
from ...facts.hooks import is_code_of
from ...text.words import at, function_name, listed, operator_word, shape_text

_SHORT = 3
"""Letters of a name that many others begin with."""
_SENTENCE = re.compile(r"(?<=\w\w)[.!?](?=\s|$)|\n")
"""End of the first sentence of a message."""


class Scene:
    """One exception with its match in the table of rows; ``format_map`` asks it for slots by name."""

    def __init__(self, flow: Flow, raised: Raised, groups: dict[str, str]) -> None:
        self.flow, self.raised, self.groups = flow, raised, groups
        self.chosen: int | None = None
        """The tensor that the row is about."""

    def __getitem__(self, slot: str) -> str:
        found = self.groups.get(slot)
        return str(getattr(self, slot)) if found is None else found

    def choose(self, about: str) -> None:
        """Choose the tensor that a row is about."""
        flow, run = self.flow, self.raised.run
        named = [one for _, one in self.operands] or self.given
        wanted = {
            "whole": [one for one in named if not flow.facts(one).floating],
            "history": [one for one in named if flow.has_history(one)]
            or [one for one in named if flow.requires_grad(one)],
            "plain": [one for one in (run.inputs if run else named) if not flow.requires_grad(one)],
            "root": run.roots if run else named,
        }.get(about, named)
        loose = [] if self.last_made is None or self.operands else [self.last_made]
        self.chosen = next(iter([*wanted, *loose]), None)

    # -- operands

    @cached_property
    def operands(self) -> list[tuple[str, int]]:
        """Text of a tensor in the failing expression -> tensor; for the recorded call if it cannot be read."""
        spelled = list(self.raised.data.get("operands", {}).items())
        if spelled or self.raised.call is None:
            return spelled
        data = self.flow.events[self.raised.call].data
        tensors = data.get("inputs") or [one for one in (data.get("tensor"),) if one is not None]
        return [(self.flow.name(one, self.raised.line), one) for one in tensors]

    @cached_property
    def last_made(self) -> int | None:
        """The last result of a call on the failing line: an operand that has no name."""
        line = self.raised.line
        rows = [row for kind in ("operation", "cut") for row in self.flow.rows.get(kind, ())]
        made = [
            row for row in rows if self.flow.events[row].source == line and "error" not in self.flow.events[row].data
        ]
        outputs = self.flow.events[max(made)].data.get("outputs", []) if made else []
        return outputs[-1] if outputs else None

    @property
    def tensor(self) -> str:
        """The program's name for the tensor."""
        spelled = next((text for text, one in self.operands if one == self.chosen), "")
        target = next(iter(self.raised.data.get("targets", ())), "")
        if spelled or self.chosen is None:
            return spelled or target or "the tensor"
        return target if self.chosen == self.last_made and target else self.flow.name(self.chosen, self.raised.line)

    @property
    def dtype(self) -> str:
        """Its dtype."""
        return "" if self.chosen is None else self.flow.facts(self.chosen).dtype

    @property
    def of_dtype(self) -> str:
        """`` (int64)``, or nothing."""
        return f" ({self.dtype})" if self.dtype else ""

    @property
    def shape(self) -> str:
        """Its shape."""
        return "an unknown shape" if self.chosen is None else shape_text(self.flow.facts(self.chosen).shape)

    @property
    def made_row(self) -> int | None:
        """The call that made it."""
        before = self.raised.run.begin if self.raised.run else len(self.flow.events)
        if self.chosen is None:
            return None
        return self.flow.last_producer(self.chosen, before, lambda row: "error" not in self.flow.events[row].data)

    @property
    def made(self) -> str:
        """`` (made by mul at train.py:3)``, or nothing."""
        row = self.made_row
        return "" if row is None else f" (made by {self._op(row)}{at(self.flow.events[row].source)})"

    # -- what the library's function was given

    @property
    def given(self) -> list[int]:
        """The tensors."""
        return list(self.raised.data.get("inputs", ()))

    @property
    def twice(self) -> str:
        """``head.weight and head.bias are``: those that it was given more than once."""
        again = [one for one, count in Counter(self.given).items() if count > 1]
        spelled = {number: text for text, number in reversed(self.operands)}
        names = listed(spelled.get(one) or self.flow.name(one) for one in again) or "a parameter"
        return f"{names} {'are' if len(again) > 1 else 'is'}"

    @property
    def argument(self) -> str:
        """The text of the program's argument, if that is a name."""
        return next((text for text, _ in self.operands), "tensor")

    # -- the call

    @property
    def here(self) -> str:
        """The line that raised."""
        return at(self.raised.line)

    @property
    def call(self) -> str:
        """The function that the failing expression calls."""
        row = self.raised.call
        return str(self.raised.data.get("call") or (self.flow.events[row].op if row is not None else "the call"))

    @property
    def drawing(self) -> str:
        """``dropout at train.py:8 in module net/2, which is in training mode,``: a call that draws random numbers."""
        row = self.raised.call
        drops = row is not None and is_a(self.flow.events[row].op, Trait.DROPOUT)
        described = f"{self.call if row is None else self._op(row)}{self.here}{self.inside}"
        return f"{described}, which is in training mode," if drops else described

    @property
    def target(self) -> str:
        """The target of the failing line's assignment."""
        return next(iter(self.raised.data.get("targets", ())), "the result")

    @property
    def receiver(self) -> str:
        """The receiver of the failing method call."""
        return str(self.raised.data.get("receiver") or "it")

    @property
    def on_operands(self) -> str:
        """`` on h (2, 3) and w (3,)``, or nothing."""
        operands = [
            f"{text} {shape_text(self.flow.facts(one).shape)} {self.flow.facts(one).dtype}"
            for text, one in self.operands
        ]
        return f" on {' and '.join(operands[:4])}" if operands else ""

    @property
    def inside(self) -> str:
        """`` in module net/0``, where the call was made in one."""
        row = self.node_row if self.raised.call is None else self.raised.call
        scope = "" if row is None else str(self.flow.events[row].data.get("scope", ""))
        return f" in module {scope}" if scope else ""

    @property
    def message(self) -> str:
        """The first sentence of the exception."""
        return _SENTENCE.split(self.raised.text.strip(), maxsplit=1)[0].rstrip(" :.")

    # -- the backward pass

    @property
    def loss(self) -> str:
        """The root of the failing pass."""
        return self.flow.root_name(self.raised.run)

    @property
    def passed(self) -> str:
        """`` at train.py:9``, where the failing pass was called."""
        return at(self.raised.run.source if self.raised.run else self.raised.line)

    @cached_property
    def node_row(self) -> int | None:
        """The call of forward whose node was running."""
        run = self.raised.run
        failed = None if run is None else self.flow.call_of_node(run.ended.get("failed_node"))
        return failed if failed is not None else self._last_call(canonical(self.groups.get("node_name", "")))

    @property
    def node(self) -> str:
        """``mul at train.py:4``, the call whose node was running, or words for an unknown one."""
        row = self.node_row
        return "a call of the graph" if row is None else f"{self._op(row)}{at(self.flow.events[row].source)}"

    @property
    def root(self) -> str:
        """The intended root of the pass, as its line spells it."""
        run = self.raised.run
        return self.loss if run is not None and run.roots else self.receiver

    @cached_property
    def op_row(self) -> int | None:
        """The last call before the pass of the operator that the message names."""
        found = self._last_call(canonical(self.groups.get("op", "")))
        return self.node_row if found is None else found

    def _last_call(self, name: str) -> int | None:
        """Return the last call of an operator before the failing pass."""
        before = self.raised.run.begin if self.raised.run else len(self.flow.events)
        rows = (row for row in reversed(self.flow.rows.get("operation", ())) if row < before and self._is(row, name))
        return next(rows, None) if name else None

    def _is(self, row: int, name: str) -> bool:
        found = canonical(self.flow.events[row].op)
        return found == name or (len(found) > _SHORT and name.startswith(found))

    @property
    def operator(self) -> str:
        """The operator that the message names, as the program calls it."""
        row = self.op_row
        return self.groups.get("op", "a call") if row is None else self._op(row)

    @property
    def made_by(self) -> str:
        """`` at train.py:4``, where it was called."""
        return "" if self.op_row is None else f"{at(self.flow.events[self.op_row].source)}{self.inside}"

    @property
    def maker_word(self) -> str:
        """The operator that returned several views."""
        row = self.made_row
        return operator_word(self.groups.get("maker", "")).lower() if row is None else self._op(row)

    @property
    def at_maker(self) -> str:
        """The line that made the written view."""
        row = self.made_row
        return "" if row is None else at(self.flow.events[row].source)

    def _op(self, row: int) -> str:
        event = self.flow.events[row]
        return event.op if event.kind == "function" else operator_word(event.op)

    # -- hooks and custom Functions

    @cached_property
    def function_event(self) -> Event | None:
        """The last call of the custom Function that the failing node or line belongs to."""
        row = self.node_row
        if row is not None and self.flow.events[row].kind == "function":
            return self.flow.events[row]
        run, name = self.raised.run, self.groups.get("function")
        backward = [
            event for at_row, event in self.flow.of_kind("function", action="backward") if run and run.begin < at_row
        ]
        forward = [event for _, event in self.flow.of_kind("function", action="forward") if event.op == name]
        behind = [] if run is None else self.flow.values_behind(run).calls
        met = [self.flow.events[one] for one in sorted(behind) if self.flow.events[one].kind == "function"]
        return next(reversed(backward or forward or met), None)

    @property
    def function(self) -> str:
        """Its name."""
        event = self.function_event
        return event.op if event is not None else self.groups.get("name", "the custom Function")

    @property
    def backward_line(self) -> SourceLine | None:
        """The line at which its backward returns."""
        data = {} if self.function_event is None else self.function_event.data
        line = data.get("backward_line") or []
        return SourceLine(line[0], data.get("return_line") or line[1], line[2]) if len(line) == 3 else None

    @property
    def forward_line(self) -> SourceLine | None:
        """The line at which its forward is defined."""
        line = [] if self.function_event is None else self.function_event.data.get("forward_line") or []
        return SourceLine(line[0], line[1], line[2]) if len(line) == 3 else None

    @cached_property
    def hook_event(self) -> Event | None:
        """The registration of the hook that failed: in its own code, on a module, or as the last that ran."""
        run = self.raised.run
        registered = [event for _, event in self.flow.of_kind("hook", action="registered")]
        line = self.raised.line
        inside = [event for event in registered if line is not None and is_code_of(event, line)]
        ran = [event for row, event in self.flow.of_kind("hook", action="ran") if run and run.begin < row < run.end]
        if inside or not ran or self.at_module:
            hung = [event for event in registered if "backward" in event.data.get("method", "")]
            return next(iter([*inside[-1:], *hung[-1:]]), None)
        handle = ran[-1].data.get("handle")
        return next((event for event in reversed(registered) if event.data.get("handle") == handle), None)

    @property
    def at_module(self) -> bool:
        """Whether the failing node belongs to the hooks on a module's inputs or outputs."""
        run, number = self.raised.run, self.raised.run.ended.get("failed_node") if self.raised.run else None
        if run is None or number is None or run.snapshot is None:
            return False
        snapshot = self.flow.graph_of(run)
        return snapshot.op[run.places(snapshot)[number]].startswith("BackwardHookFunction")

    @property
    def hook(self) -> str:
        """The name of the hook."""
        if self.hook_event is None:
            return "a hook"
        name = function_name(self.hook_event.data.get("hook"))
        return "the hook" if name.startswith("<") else f"the hook {name}"

    @property
    def hooked(self) -> str:
        """`` of h, registered at train.py:4,``."""
        event = self.hook_event
        if event is None:
            return ""
        tensor, module = event.data.get("tensor"), event.data.get("type", "")
        of = (
            f" of {self.flow.name(tensor, event.source)}" if tensor is not None else f" of a {module}" if module else ""
        )
        return f"{of}, registered{at(event.source)},"

    @property
    def for_hook(self) -> str:
        """What the hook may return."""
        if self.hook_event is None or self.hook_event.data.get("type") is None:
            return "a gradient of the same shape, dtype and device as the one that came in"
        return (
            "a tuple, with one gradient for each input of the module, as (gradient,): a bare tensor is taken apart "
            "along its first dimension"
        )

    @property
    def in_hook(self) -> bool:
        """Whether the exception was raised in the code of a hook."""
        event, line = self.hook_event, self.raised.line
        return event is not None and line is not None and is_code_of(event, line)

    @property
    def function_or_node(self) -> str:
        """``Scale.backward``, which an ``apply`` at some line made, or the call whose node failed."""
        event, row = self.function_event, self.node_row
        of_function = event is not None and (row is None or self.flow.events[row] is event)
        applied = next(
            (one for _, one in self.flow.of_kind("function", action="forward") if event and one.op == event.op), None
        )
        if of_function and event is not None and applied is not None:
            return f"{event.op}.backward (applied{at(applied.source)})"
        return self.node

    @property
    def name_here(self) -> str:
        """The custom Function that the failing line uses."""
        for text in (self.receiver, self.call):
            if text[:1].isupper():
                return text.split("(")[0]
        return "the Function"

    @property
    def sparse(self) -> str:
        """The leaves with sparse gradients."""
        rows = [row for row, event in self.flow.of_kind("operation") if event.data.get("arguments", {}).get("sparse")]
        leaves = dict.fromkeys(one for row in rows for one in self.flow.inputs(row) if self.flow.requires_grad(one))
        return listed(map(self.flow.name, leaves)) or "a parameter"

    @cached_property
    def checkpoint_event(self) -> Event | None:
        """The last checkpointed block before the failing pass."""
        end = self.raised.run.begin if self.raised.run else len(self.flow.events)
        found = [
            event
            for row, event in self.flow.of_kind("checkpoint")
            if row < end and event.data.get("action") == "forward"
        ]
        return found[-1] if found else None

    @property
    def of_checkpoint(self) -> str:
        """`` (block at train.py:8)``."""
        event = self.checkpoint_event
        return "" if event is None else f" ({function_name(event.data.get('function'))}{at(event.source)})"
