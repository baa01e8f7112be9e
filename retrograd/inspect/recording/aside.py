"""``Asides``: what ran beside a backward graph: inputs, frozen parameters, modules that were cut off.

A backward graph holds only what has a gradient. A picture that also shows how values flow needs the rest: it is read
from the events of a recording at level ``full`` and added behind the nodes of the graph, which keep their numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from ..graphs.graph import ASIDE, IDLE, INPUT, NODE_COLUMNS, Cut, Graph
from ..operators import is_view
from .events import OPERATIONS, Event, Recording
from .forward_graph import call_title, given_by, module_classes, parameter_names

_MOST_ENDS = 8
"""Calls that are followed behind one operand outside of modules: a sum over a data set has many."""
_MOST_CALLS = 2_000
"""Calls beside one graph that are drawn, the nearest ones."""
_CALLS = frozenset({*OPERATIONS, "function"})
_MOST_PASSED = 4
"""Backward passes that may lie between two calls of one graph; before more of them nothing is looked for."""
Operand = tuple[int, int]
"""Number of an input, and the tensor that it takes."""


class Asides:
    """Adds to the graphs of a recording what ran beside them."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._names = parameter_names(recording) if recording.level == "full" else {}
        self._classes = module_classes(recording) if recording.level == "full" else {}
        self._passes = {
            event.data["snapshot"]: row
            for row, event in enumerate(recording.events if recording.level == "full" else ())
            if event.kind == "backward" and event.data.get("snapshot") is not None
        }
        """Graph -> the event with which its backward pass began."""
        self._asking = {
            event.data["tensor"]: row
            for row, event in enumerate(recording.events if self._passes else ())
            if event.kind == "leaf" and event.data.get("value")
        }
        """Tensor -> the event by which it began to ask for a gradient, if it did not from the beginning."""

    @property
    def known(self) -> bool:
        """Whether the recording has what is needed."""
        return bool(self._passes)

    def beside(self, number: int, graph: Graph) -> Graph:
        """Return a graph of the recording with what its calls took that has no gradient; itself if that is unknown."""
        end = self._passes.get(number)
        if end is None or not len(graph):
            return graph
        leaves = {tensor for tensor, row in self._asking.items() if row < end}
        forward = _Forward(self._recording, graph, end, self._names, leaves)
        return _Extension(self._recording, graph, forward, self._classes).graph() if forward.takes else graph


class _Forward:
    """The calls that led to a graph, and what each took."""

    def __init__(
        self, recording: Recording, graph: Graph, end: int, names: dict[int, tuple[str, str]], leaves: set[int]
    ) -> None:
        self._recording = recording
        self.names = names
        self.own: dict[int, int] = {}
        """Call -> the node of the graph that took its operands."""
        self.takes: dict[int, list[tuple[int, int]]] = {}
        """Call, in or beside the graph -> the calls whose results it used, with the number of the input."""
        self.inputs: dict[int, list[Operand]] = {}
        """Call -> tensors that no call of the forward pass made."""
        self.idle: dict[int, list[Operand]] = {}
        """Call -> parameters without a gradient from this pass."""
        self._trained = self._accumulated(end)
        self._leaves = self._trained | leaves
        """Tensors that the graph has as leaves, apart from those that ask for a gradient from the beginning."""
        self._ends: dict[int, tuple[int, ...]] = {}
        """Call that is not drawn itself -> the drawn ones behind it."""
        self._begins: dict[int, tuple[int, ...]] = {}
        """Call that is not drawn itself -> the inputs behind it."""
        self._held: dict[int, tuple[int, ...]] = {}
        """Call that takes nothing but parameters without a gradient -> these: what takes its result has them."""
        made: dict[int, int] = {}
        for row in self._window(graph, end):
            event = recording.events[row]
            if operands := list(enumerate(event.data.get("inputs") or ())):
                self._add(row, event, operands, made)
            made.update(dict.fromkeys(self._new(row, event), row))

    def _new(self, row: int, event: Event) -> list[int]:
        """Return the tensors that a call made: not those that it gives back as they are, such as ``x.to(x.dtype)``."""
        given = given_by(event)
        if row in self.own or event.kind == "inplace":
            return given
        return [tensor for tensor in given if tensor not in event.data.get("inputs", ())]

    def _window(self, graph: Graph, end: int) -> range:
        """Return the events of the forward pass of a graph, and find its own calls.

        It goes back to the end of the backward pass before the first of these: what ran earlier is input.
        """
        nodes = {graph.first_seq + seq: node for node, seq in enumerate(graph.seq) if seq is not None}
        first = min(nodes, default=0)
        seen_first, passed = False, 0
        for row in range(end - 1, -1, -1):
            event = self._recording.events[row]
            if event.kind == "backward-end":
                passed += 1
                if seen_first or passed > _MOST_PASSED:
                    return range(row + 1, end)
            begin, stop = event.data.get("nodes", (0, 0)) if event.kind in _CALLS else (0, 0)
            node = next((nodes[made] for made in range(stop - 1, begin - 1, -1) if made in nodes), None)
            if node is not None:
                self.own[row], passed = node, 0
                seen_first = seen_first or begin <= first
        return range(end)

    def _accumulated(self, end: int) -> set[int]:
        """Return the tensors into which the backward pass accumulated a gradient."""
        found = set()
        for row in range(end, len(self._recording.events)):
            event = self._recording.events[row]
            if event.kind == "accumulate":
                found.add(event.data["tensor"])
            elif event.kind == "backward-end":
                break
        return found

    def _add(self, row: int, event: Event, operands: list[Operand], made: dict[int, int]) -> None:
        """Note what a call took; one outside of modules, or a view, only passes on what it took."""
        takes: list[tuple[int, int]] = []
        inputs: list[Operand] = []
        idle = [(place, one) for place, one in operands if one in self.names and self._is_idle(one)]
        results = [(place, made[one]) for place, one in operands if one in made and one not in self.names]
        idle += [(place, one) for place, giver in results for one in self._held.get(giver, ())]
        for place, tensor in operands:
            if tensor in self.names or tensor in self._leaves:
                continue
            giver = made.get(tensor, -1)
            drawn = (giver,) if giver in self.takes or giver in self.own else self._ends.get(giver, ())
            takes += [(place, end) for end in drawn]
            if not drawn:
                inputs += [(place, one) for one in self._behind(place, tensor, self._begins.get(giver, ()))]
        if row in self.own or (event.data.get("scope") and not is_view(event.op) and (takes or inputs)):
            self.takes[row], self.inputs[row], self.idle[row] = takes, inputs, idle
        else:
            self._ends[row] = tuple(dict.fromkeys(end for _, end in takes))[:_MOST_ENDS]
            known = (
                one for _, one in inputs if self._recording.tensors[one].name
            )  # others are what the call worked on
            self._begins[row] = tuple(dict.fromkeys(known))[:_MOST_ENDS]
            self._held[row] = () if takes or inputs else tuple(one for _, one in idle)

    def _behind(self, place: int, tensor: int, begins: tuple[int, ...]) -> tuple[int, ...]:
        """Return the inputs that a tensor which no drawn call made stands for: itself if it has a name, or its origins.

        A tensor without any name is an input where it is what a call works on.
        """
        facts = self._recording.tensors[tensor]
        if facts.requires_grad:
            return ()  # the graph has it
        return (tensor,) if facts.name else begins or (tensor,) * (place == 0)

    def _is_idle(self, parameter: int) -> bool:
        """Whether a parameter gets no gradient; passes that accumulate nothing leave only what never asks for one."""
        return parameter not in self._trained if self._trained else not self._recording.tensors[parameter].requires_grad

    def drawn(self) -> list[int]:
        """Return the calls beside the graph whose results reach it, the nearest first."""
        found: dict[int, None] = {}
        waiting = deque(self.own)
        while waiting and len(found) < _MOST_CALLS:
            for _, giver in self.takes.get(waiting.popleft(), ()):
                if giver not in self.own and giver not in found:
                    found[giver] = None
                    waiting.append(giver)
        return list(found)


class _Extension:
    """Writes a graph with the calls beside it, their inputs and their parameters."""

    def __init__(self, recording: Recording, graph: Graph, forward: _Forward, classes: dict[str, str]) -> None:
        self._recording, self._forward = recording, forward
        self._made = replace(graph, classes={**classes, **graph.classes})
        for column in NODE_COLUMNS:
            setattr(self._made, column, list(getattr(graph, column)))
        for column in ("edge_source", "edge_target", "edge_input_nr", "edge_output_nr", "cuts"):
            setattr(self._made, column, list(getattr(graph, column)))
        self._nodes = dict(forward.own)
        """Call -> its node."""
        self._places: dict[int, int] = {}
        """Input or parameter -> its node."""
        self._count = len(graph)
        self._inputs: dict[int, int] = {}
        """Node -> the first number behind those of its inputs."""
        for node, place in zip(graph.edge_source, graph.edge_input_nr, strict=True):
            self._inputs[node] = max(self._inputs.get(node, 0), place + 1)
        self._new_cuts: list[Cut] = []

    def graph(self) -> Graph:
        """Return the graph."""
        made, calls = self._made, self._forward.drawn()
        self._spread_numbers(calls)
        for row in calls:
            self._nodes[row] = len(made)
            self._put_call(row)
        for row in (*self._forward.own, *calls):
            self._join(row, {giver for _, giver in self._forward.takes[row]} & self._nodes.keys())
        self._replace_cuts()
        self._put_leaves([*self._forward.own, *calls])
        if len(made) == self._count:
            return made
        made.measures = {
            name: [*values, *[None] * (len(made) - self._count)] for name, values in self._made.measures.items()
        }
        return made

    def _spread_numbers(self, calls: list[int]) -> None:
        """Make room between the numbers of nodes, which say in which order they were made, for calls without nodes."""
        made, step = self._made, len(calls) + 2
        self._numbers: dict[int, int] = {}
        made.seq = [None if number is None else number * step for number in made.seq]
        latest, behind = -step, 0
        of_call = {row: made.seq[node] for row, node in self._forward.own.items()}
        for row in sorted([*self._forward.own, *calls]):
            number = of_call.get(row)
            if row in of_call:
                latest, behind = max(latest, number or 0), 0
            else:
                behind += 1
                self._numbers[row] = latest + behind

    def _join(self, row: int, givers: Iterable[int]) -> None:
        """Add the edges from a call to the calls beside the graph whose results it took, and to what they cut."""
        made, node = self._made, self._nodes[row]
        words = [cut for cut in made.cuts if cut.node == node and cut.origin < 0]
        for giver in sorted(givers, reverse=True):
            target = self._nodes[giver]
            if target < self._count and node < self._count:
                continue  # an edge of the graph, or a cut that is known
            if target < self._count:
                self._cut(row, node, target)
            elif words and node < self._count:
                cut = words.pop()
                made.cuts[made.cuts.index(cut)] = cut._replace(origin=target)
            else:
                self._edge(node, target)

    def _cut(self, row: int, node: int, target: int) -> None:
        """Note that a call beside the graph took a result that has a gradient."""
        event = self._recording.events[row]
        switch = event.data.get("switch")
        word = event.data.get("reason") or "no gradient" if switch is None else self._recording.events[switch].op
        self._new_cuts.append(Cut(node, word, event.source, target))

    def _replace_cuts(self) -> None:
        """Leave out the cuts between nodes of the graph whose way around the graph is drawn."""
        made, users = self._made, {cut.node: set[int]() for cut in self._new_cuts}
        for source, end in zip(made.edge_source, made.edge_target, strict=True):
            if end in users:
                users[end].add(source)
        around = {(user, cut.origin) for cut in self._new_cuts for user in users[cut.node]}
        made.cuts = [cut for cut in made.cuts if (cut.node, cut.origin) not in around] + self._new_cuts

    def _put_leaves(self, rows: list[int]) -> None:
        """Add inputs and parameters without a gradient."""
        uses: dict[int, int] = {}
        for row in rows:
            for _, tensor in self._forward.inputs[row]:
                uses[tensor] = uses.get(tensor, 0) + 1
        for row in rows:
            node = self._nodes[row]
            for _, tensor in (*self._forward.inputs[row], *self._forward.idle[row]):
                if tensor not in self._places:
                    self._places[tensor] = len(self._made)
                    self._put_leaf(tensor, shared=uses.get(tensor, 0) > 1)
                self._edge(node, self._places[tensor])

    def _edge(self, source: int, target: int) -> None:
        made = self._made
        made.edge_source.append(source)
        made.edge_target.append(target)
        made.edge_input_nr.append(self._inputs.get(source, 0))
        made.edge_output_nr.append(0)
        self._inputs[source] = made.edge_input_nr[-1] + 1

    def _put_call(self, row: int) -> None:
        event, tensors = self._recording.events[row], self._recording.tensors
        results = [tensors[tensor] for tensor in given_by(event)]
        names = ", ".join(result.name for result in results if result.name)
        self._put(
            op=event.op,
            kind=ASIDE,
            call=call_title(event, self._made.classes),
            name=names or None,
            scope=str(event.data.get("scope") or ""),
            source=event.source,
            seq=self._numbers[row],
            shape=tuple(results[0].shape) if results else None,
            dtype=results[0].dtype if results else None,
        )

    def _put_leaf(self, tensor: int, *, shared: bool) -> None:
        facts = self._recording.tensors[tensor]
        name, scope = self._forward.names.get(tensor, (facts.name, ""))
        idle = tensor in self._forward.names
        self._put(
            op="parameter" if idle else "input",
            kind=IDLE if idle else INPUT,
            call="",
            name=name or None,
            scope=scope,
            source=None if idle else facts.source,
            seq=None if idle or shared else -len(self._made) * 10**9,
            shape=tuple(facts.shape),
            dtype=facts.dtype,
        )

    def _put(self, **columns: object) -> None:
        for column in NODE_COLUMNS:
            getattr(self._made, column).append(columns.get(column))
