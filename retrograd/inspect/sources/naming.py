"""Fills the columns of a graph that nodes do not provide: names, scopes and source lines."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import FrameType
from typing import Any

from ..graphs.graph import Graph
from ..program.frames import user_frames
from ..program.names import Found, ParameterName, frame_variables, parameter_names, search
from ..program.spelling import is_name
from ..program.syntax import loop_variables
from ..references import Reference
from .base import Node, Origins


def add_origins(snapshot: Graph, origins: Origins | None) -> None:
    """Fill in lines, scopes and calls, empty without a watch, and where values flow on without gradients."""
    if origins is None:
        snapshot.source, snapshot.scope, snapshot.call = (
            [None] * len(snapshot),
            [""] * len(snapshot),
            [""] * len(snapshot),
        )
        return
    snapshot.source, snapshot.scope, snapshot.call = origins.find(snapshot.seq)
    snapshot.cuts = origins.cuts(snapshot.seq)
    snapshot.classes = classes_of(snapshot.scope, origins.classes)


def classes_of(scopes: list[str], known: dict[str, str]) -> dict[str, str]:
    """Return the classes of the modules that contain nodes, and of the modules around them."""
    found: dict[str, str] = {}
    for scope in dict.fromkeys(scopes):
        while scope and scope not in found:
            if scope in known:
                found[scope] = known[scope]
            scope = scope.rpartition("/")[0]
    return found


def name_leaves(table: Any, frame: FrameType | None, tensor: type) -> None:
    """Search the user's variables for names of leaves that were not searched for before."""
    wanted = {id(leaf): leaf for leaf in table.unnamed_leaves()}
    if not wanted:
        return
    frames = list(user_frames(frame))
    passing = {name for one in frames for name in loop_variables(one.f_code.co_filename)}
    lasting = [(name, value) for name, value in frame_variables(frames) if name not in passing]
    found = search(lasting, set(wanted), lambda value: issubclass(type(value), tensor))
    for identity, name in found.variables.items():
        if identity in wanted:
            table.name(wanted[identity], name)


class NameMemory:
    """Names found in earlier backward passes of a watched program, so that not every pass searches deep.

    Leaves without any name would be searched for at every step; after a few fruitless searches only every second,
    fourth, eighth … pass searches again.
    """

    _PATIENCE = 3

    def __init__(self) -> None:
        self._known: dict[int, tuple[Reference, str]] = {}
        self._parameters: dict[int, tuple[Reference, ParameterName]] = {}
        """Names of parameters in these modules."""
        self._modules: list[tuple[str, int]] = []
        self._fruitless = 0
        self._asked = 0

    def names(self, wanted: set[int]) -> dict[int, str]:
        """Return the names of wanted leaves that were found before and are still valid."""
        known = self._known
        return {key: known[key][1] for key in wanted & known.keys() if known[key][0]() is not None}

    def parameters(self, modules: list[tuple[str, Any]], wanted: dict[int, Any]) -> dict[int, ParameterName]:
        """Return what ``parameter_names`` does, cached for the same leaves."""
        named = [(name, id(module)) for name, module in modules]
        known = self._parameters
        same = named == self._modules and wanted.keys() == known.keys()
        if same and all(known[key][0]() is leaf for key, leaf in wanted.items()):
            return {key: name for key, (_, name) in known.items()}
        found = parameter_names(modules, set(wanted)) if wanted else {}
        self._modules = named
        self._parameters = {key: (Reference(wanted[key]), name) for key, name in found.items()}
        return found

    def may_search(self) -> bool:
        """Whether it is time for a deep search."""
        self._asked += 1
        return self._fruitless < self._PATIENCE or self._asked & (self._asked - 1) == 0

    def learn(self, leaves: dict[int, Any], wanted: set[int], found: dict[int, str]) -> None:
        """Cache the result of a deep search."""
        self._fruitless = 0 if wanted <= found.keys() else self._fruitless + 1
        for leaf in leaves.values():
            key = id(leaf)
            if key in found:
                self._known[key] = (Reference(leaf, functools.partial(self._forget, key)), found[key])

    def _forget(self, key: int, _: object) -> None:
        self._known.pop(key, None)


class Naming:
    """Where names are searched: ``params`` first, then modules, then the variables of the user's frames."""

    modules: list[tuple[str, Any]] = []
    """Modules that are being watched, with their names."""
    memory: NameMemory | None = None
    """Names from earlier passes under the same watch."""
    origins: Origins | None = None
    """Where the nodes of a watched program come from."""

    def __init__(
        self, tensor_type: type, roots: list[Any], frame: FrameType | None, params: Mapping[str, Any] | None
    ) -> None:
        self._type = tensor_type
        self._roots = roots
        self._frame = frame
        self._given = {id(tensor): name for name, tensor in params.items()} if params else {}

    def add_to(self, snapshot: Graph, order: list[Node], leaves: dict[int, Any]) -> None:
        """Fill in the names of leaves, roots and intermediate results, and the scope of watched parameters."""
        snapshot.name = [None] * len(order)
        snapshot.root_names = [None] * len(snapshot.roots)
        names = self._given
        if self._frame is not None:
            found, parameters = self._search(leaves)
            names = {**found.variables, **{key: name.name for key, name in parameters.items()}, **names}
            _name_intermediates(snapshot, _names_of_outputs(snapshot, order, found.tensors, self.origins))
            self._name_roots(snapshot, found)
            if self.modules:  # else operators have no scope, and a leaf would be alone in one
                self._place(snapshot, leaves, parameters)
        for place, leaf in leaves.items():
            snapshot.name[place] = names.get(id(leaf))

    def _search(self, leaves: dict[int, Any]) -> tuple[Found, dict[int, ParameterName]]:
        """Search modules and variables for leaves, and variables for roots."""
        variables = frame_variables(user_frames(self._frame))
        found = search(variables, {id(root) for root in self._roots}, self._is_tensor, deep=False)
        missing = {id(leaf): leaf for leaf in leaves.values() if id(leaf) not in self._given}
        memory = self.memory or NameMemory()
        parameters = memory.parameters(self.modules, missing)
        wanted = missing.keys() - parameters.keys()
        if self.memory is not None and wanted:
            known = self.memory.names(wanted)
            found.variables = {**known, **found.variables}
            wanted = wanted - known.keys()
        if wanted:
            deep = self.memory is None or self.memory.may_search()
            more = search(variables, wanted, self._is_tensor, deep=deep)
            found.variables = {**more.variables, **found.variables}
            if more.modules:
                parameters |= parameter_names([*self.modules, *more.modules], wanted | parameters.keys())
            if self.memory is not None and deep:
                self.memory.learn(leaves, wanted - parameters.keys(), more.variables)
        return found, parameters

    def _is_tensor(self, value: object) -> bool:
        """Whether a variable holds a tensor."""
        return issubclass(type(value), self._type)

    def _name_roots(self, snapshot: Graph, found: Found) -> None:
        """Name roots after the variable that holds the tensor or its node."""
        for number, (place, root) in enumerate(zip(snapshot.roots, self._roots, strict=True)):
            snapshot.root_names[number] = found.variables.get(id(root)) or snapshot.name[place]
        held = {id(root) for root, name in zip(self._roots, snapshot.root_names, strict=True) if name is None}
        if held and self._frame is not None:  # ``out.loss``
            inside = search(frame_variables(user_frames(self._frame)), held, self._is_tensor, levels=2).variables
            named = zip(self._roots, snapshot.root_names, strict=True)
            snapshot.root_names = [inside.get(id(root)) if name is None else name for root, name in named]

    def _place(self, snapshot: Graph, leaves: dict[int, Any], parameters: dict[int, ParameterName]) -> None:
        """Set the scope of parameters to the module that holds them."""
        for place, leaf in leaves.items():
            if id(leaf) in parameters:
                snapshot.scope[place] = parameters[id(leaf)].scope


def _names_of_outputs(
    snapshot: Graph, order: list[Node], tensors: list[tuple[str, Any]], origins: Origins | None
) -> dict[int, dict[int, str]]:
    """Return the names of each node's outputs by number: the user's variables, else the targets of their line.

    Asking a view that was written to for its ``grad_fn`` would make the engine build a node there and then, so
    such views are left alone.
    """
    found: dict[int, dict[int, str]] = {}
    places = {node: place for place, node in enumerate(order)} if tensors else {}
    for name, tensor in tensors:
        if tensor._is_view() and tensor._version:
            continue
        node = tensor.grad_fn
        place = None if node is None else places.get(node)
        if place is not None:
            found.setdefault(place, {}).setdefault(tensor.output_nr, name)
    for place in {target for _, target, _, output in snapshot.edges() if output} if origins else ():
        number = snapshot.seq[place]
        for output, name in enumerate(() if number is None else origins.targets(number)):  # type: ignore[union-attr]
            if is_name(name) and ", " not in name:
                found.setdefault(place, {}).setdefault(output, name)
    return found


def _name_intermediates(snapshot: Graph, names: dict[int, dict[int, str]]) -> None:
    """Name nodes after their outputs; several in order, with ``_`` for one without a name: ``q, _, v``."""
    for place, found in names.items():
        if snapshot.name[place] is None and snapshot.kind[place] != "leaf":
            snapshot.name[place] = ", ".join(found.get(number, "_") for number in range(max(found) + 1))
