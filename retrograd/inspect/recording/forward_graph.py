"""``forward_graph``: draws the calls of a program that never ran backward, as a graph.

It is built from the events of a recording at level ``full``. Nodes are calls, leaves are parameters; edges point from a
call to its operands, as in a backward graph.
"""

from __future__ import annotations

import re
from collections import deque

from ..graphs.graph import FORWARD_ONLY, IN_PLACE, Graph
from .events import OPERATIONS, Event, Recording


def with_forward(recording: Recording) -> Recording:
    """Return a recording to draw: without backward graphs, it gets the graph of its last forward pass, if any."""
    if recording.graphs:
        return recording
    made = forward_graph(recording)
    if made is None:
        return recording
    return Recording(script=recording.script, engine=made.engine, graphs=[made], level=recording.level)


def forward_graph(recording: Recording) -> Graph | None:
    """Return the graph of the last connected calls, None if there are no calls."""
    calls = _Calls(recording)
    return calls.graph() if calls.rows else None


_DIMENSIONS = re.compile(r"[123]d$")


class _Calls:
    """The calls of a recording, and the data flow between them."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._names = parameter_names(recording)
        """Name and scope of each parameter; the calls that initialised it do not belong to a forward pass."""
        self.rows: list[int] = []
        self._takes: dict[int, list[tuple[int, int, int]]] = {}
        """Call -> the calls whose results it uses: input number, event index, output number."""
        self._users: dict[int, list[int]] = {}
        self._leaves: dict[int, list[tuple[int, int]]] = {}
        """Call -> the tensors it uses that no call made: input number, tensor."""
        made: dict[int, tuple[int, int]] = {}
        for row, event in enumerate(recording.events):
            given = [tensor for tensor in given_by(event) if tensor not in self._names]
            if given and event.data.get("inputs"):
                self._add(row, event.data["inputs"], made)
                made.update((tensor, (row, number)) for number, tensor in enumerate(given))

    def _add(self, row: int, inputs: list[int], made: dict[int, tuple[int, int]]) -> None:
        self.rows.append(row)
        takes, leaves = self._takes.setdefault(row, []), self._leaves.setdefault(row, [])
        for number, tensor in enumerate(inputs):
            giver = made.get(tensor)
            if giver is None:
                leaves.append((number, tensor))
            elif self._is_step_of(giver[0], row):
                leaves += [(number, leaf) for _, leaf in self._leaves[giver[0]]]
            else:
                takes.append((number, *giver))
                self._users.setdefault(giver[0], []).append(row)

    def _is_step_of(self, giver: int, row: int) -> bool:
        """Whether a call only prepares leaves for another one in the same call of the program: linear's weight."""
        one, other = self._recording.events[giver], self._recording.events[row]
        same = one.op == other.op and one.source == other.source and one.data.get("scope") == other.data.get("scope")
        return same and not self._takes[giver]

    def _last(self) -> list[int]:
        """Return the calls that are connected with the last one, latest first."""
        found, waiting = {self.rows[-1]}, deque([self.rows[-1]])
        while waiting:
            row = waiting.popleft()
            for other in (*self._users.get(row, ()), *(giver for _, giver, _ in self._takes[row])):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return sorted(found, reverse=True)

    def graph(self) -> Graph:
        """Return the graph of the last calls."""
        recording = self._recording
        rows = self._last()
        graph = Graph(engine=recording.engine or "torch", label=FORWARD_ONLY, classes=module_classes(recording))
        place = {row: number for number, row in enumerate(rows)}
        for row in rows:
            _put_call(graph, recording, row)
        leaves: dict[int, int] = {}
        for row in rows:
            for number, tensor in self._leaves[row]:
                if tensor not in leaves:
                    leaves[tensor] = len(graph.op)
                    _put_leaf(graph, recording, tensor, self._names)
                _put_edge(graph, place[row], leaves[tensor], number, 0)
            for number, giver, output in self._takes[row]:
                _put_edge(graph, place[row], place[giver], number, output)
        graph.roots = [place[row] for row in rows if row not in self._users]
        graph.root_names = [graph.name[root] for root in graph.roots]
        return graph


def given_by(event: Event) -> list[int]:
    """Return the tensors that a call returned or wrote into."""
    if event.kind not in OPERATIONS and event.kind != "function":
        return []
    given: list[int] = event.data.get("outputs") or []
    return given or ([event.data["target"]] if "target" in event.data else [])


def module_classes(recording: Recording) -> dict[str, str]:
    """Return the class of each module that ran, by scope."""
    found: dict[str, str] = {}
    for event in recording.events:
        if event.kind == "module":
            scope = str(event.data.get("scope", ""))
            found[scope] = event.op
            inside = event.data.get("classes", {})
            found |= {f"{scope}/{path.replace('.', '/')}": name for path, name in inside.items()}
    return found


def call_title(event: Event, classes: dict[str, str]) -> str:
    """Return what the program called: the class of a layer that is named after its operator, or the function."""
    layer = classes.get(str(event.data.get("scope", "")), "")
    return layer if layer and _squashed(layer) == _squashed(event.op) else event.written


def _squashed(name: str) -> str:
    """Return what the names of a layer and of its function have in common: ``batchnorm`` of ``BatchNorm2d``."""
    return _DIMENSIONS.sub("", name.replace("_", "").lower())


def parameter_names(recording: Recording) -> dict[int, tuple[str, str]]:
    """Return name and scope of each parameter, by tensor."""
    found = {number: (facts.name, "") for number, facts in enumerate(recording.tensors) if facts.parameter}
    for event in recording.events:
        if event.kind == "module":
            name, scope = str(event.data.get("name", "")), str(event.data.get("scope", ""))
            for dotted, tensor in event.data.get("parameters", {}).items():
                below = dotted.rpartition(".")[0].replace(".", "/")
                found[tensor] = f"{name}.{dotted}", "/".join(part for part in (scope, below) if part)
    return found


def _put_call(graph: Graph, recording: Recording, row: int) -> None:
    event = recording.events[row]
    results = [recording.tensors[tensor] for tensor in given_by(event)]
    graph.op.append(event.op)
    graph.kind.append("function" if event.kind == "function" else "op")
    title = call_title(event, graph.classes)
    writes = event.kind == "inplace" and not title.endswith("_")
    graph.call.append(title + IN_PLACE * writes)
    names = [result.name for result in results]
    graph.name.append((", ".join(name or "_" for name in names) if any(names[1:]) else names[0]) or None)
    graph.scope.append(str(event.data.get("scope") or ""))
    graph.source.append(event.source)
    graph.seq.append(row)
    _put_tensor(graph, results[0].shape, results[0].dtype)


def _put_leaf(graph: Graph, recording: Recording, tensor: int, names: dict[int, tuple[str, str]]) -> None:
    facts = recording.tensors[tensor]
    name, scope = names.get(tensor, (facts.name, ""))
    graph.op.append("parameter" if tensor in names else "input")
    graph.kind.append("leaf" if tensor in names else "op")
    graph.call.append("")
    graph.name.append(name or None)
    graph.scope.append(scope)
    graph.source.append(None)
    graph.seq.append(None)
    _put_tensor(graph, facts.shape, facts.dtype)


def _put_tensor(graph: Graph, shape: tuple[int, ...], dtype: str) -> None:
    graph.shape.append(tuple(shape))
    graph.dtype.append(dtype)
    graph.saved_bytes.append(None)


def _put_edge(graph: Graph, source: int, target: int, input_nr: int, output_nr: int) -> None:
    graph.edge_source.append(source)
    graph.edge_target.append(target)
    graph.edge_input_nr.append(input_nr)
    graph.edge_output_nr.append(output_nr)
