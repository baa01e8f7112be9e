"""Fills the columns of a snapshot that the nodes themselves do not tell: names, scopes and source lines."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import Any

from ..frames import user_frames
from ..names import Found, ParameterName, frame_variables, parameter_names, search
from ..snapshot import GraphSnapshot
from .base import Node, Origins


def add_origins(shot: GraphSnapshot, origins: Origins | None) -> None:
    """Fill in source lines and scopes, empty ones without a watch."""
    if origins is None:
        shot.source, shot.scope = [None] * len(shot), [""] * len(shot)
    else:
        shot.source, shot.scope = origins.find(shot.seq)


class Naming:
    """What names can be found from: ``params`` first, then modules, then the variables of the user's frames."""

    modules: list[tuple[str, Any]] = []
    """Modules that are being watched, with their names."""

    def __init__(
        self, tensor_type: type, roots: list[Any], frame: FrameType | None, params: Mapping[str, Any] | None
    ) -> None:
        self._type = tensor_type
        self._roots = roots
        self._frame = frame
        self._given = {id(tensor): name for name, tensor in params.items()} if params else {}

    def add_to(self, shot: GraphSnapshot, order: list[Node], leaves: dict[int, Any]) -> None:
        """Fill in the names of leaves, roots and intermediate results, and the scope of watched parameters."""
        shot.name = [None] * len(order)
        shot.root_names = [None] * len(shot.roots)
        names = self._given
        if self._frame is not None:
            found, parameters = self._search({id(leaf) for leaf in leaves.values()} - names.keys())
            names = {**found.variables, **{key: name.name for key, name in parameters.items()}, **names}
            _name_intermediates(shot, order, found.tensors)
            self._name_roots(shot, found)
            if self.modules:  # else operators have no scope, and a leaf would stand in one alone
                self._place(shot, leaves, parameters)
        for place, leaf in leaves.items():
            shot.name[place] = names.get(id(leaf))

    def _search(self, wanted: set[int]) -> tuple[Found, dict[int, ParameterName]]:
        """Look for leaves in modules and variables, and for roots among the variables themselves."""
        variables = frame_variables(user_frames(self._frame))
        found = search(variables, {id(root) for root in self._roots}, self._is_tensor, deep=False)
        if not wanted:
            return found, {}
        parameters = parameter_names(self.modules, wanted)
        if len(parameters) < len(wanted):
            deeper = search(variables, wanted - parameters.keys(), self._is_tensor)
            found.variables = {**deeper.variables, **found.variables}
            parameters = parameter_names([*self.modules, *deeper.modules], wanted)
        return found, parameters

    def _is_tensor(self, value: object) -> bool:
        """Whether a variable holds a tensor."""
        return issubclass(type(value), self._type)

    def _name_roots(self, shot: GraphSnapshot, found: Found) -> None:
        """Name roots after the variable that holds the tensor, or whose node it is."""
        for number, (place, root) in enumerate(zip(shot.roots, self._roots, strict=True)):
            shot.root_names[number] = found.variables.get(id(root)) or shot.name[place]

    def _place(self, shot: GraphSnapshot, leaves: dict[int, Any], parameters: dict[int, ParameterName]) -> None:
        """Put parameters into the scope of the module that holds them."""
        for place, leaf in leaves.items():
            if id(leaf) in parameters:
                shot.scope[place] = parameters[id(leaf)].scope


def _name_intermediates(shot: GraphSnapshot, order: list[Node], tensors: list[tuple[str, Any]]) -> None:
    """Name the nodes whose first output is a variable of the user.

    Asking a view that was written to for its ``grad_fn`` would make the engine build a node there and then, so
    such views are left alone.
    """
    if not tensors:
        return
    places = {node: place for place, node in enumerate(order)}
    for name, tensor in tensors:
        if tensor._is_view() and tensor._version:
            continue
        node = tensor.grad_fn
        place = None if node is None else places.get(node)
        if place is not None and shot.name[place] is None and shot.kind[place] != "leaf" and not tensor.output_nr:
            shot.name[place] = name
