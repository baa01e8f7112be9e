"""What the modules inside a module are called."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from ..program.frames import user_frames
from ..program.modules import inner_modules
from ..program.names import frame_variables, parameter_names, search
from ..references import Reference
from ..tensor_table import TensorTable


class Root:
    """A module that was called while no other module was running: names of everything in it."""

    __slots__ = ("name", "paths", "ref")

    def __init__(self, module: Any, name: str) -> None:
        self.ref = Reference(module)
        self.name = name
        self.paths: dict[int, str] = {}

    def path(self, module: Any) -> str | None:
        """Return the scope of one of its modules: ``model/layers/0/linear1``."""
        return self.paths.get(id(module))

    def refresh(self) -> None:
        """Read the names again; modules were perhaps added."""
        self.paths = {}
        module = self.ref()
        if module is None:
            return
        for dotted, inner in inner_modules(module):
            self.paths[id(inner)] = "/".join([self.name, *dotted.split(".")]) if dotted else self.name


class Roots:
    """The outermost modules of a watched program, and the paths of everything in them."""

    def __init__(self, met: Callable[[str, Any, int, FrameType], None]) -> None:
        self._roots: dict[int, Root] = {}
        self._count = 0
        """How many there were."""
        self._named: dict[str, Root] = {}
        """The same by their names."""
        self._met = met
        """Told of outermost modules that were not known: the name, the module, its number, the frame that called it."""

    def close(self) -> None:
        """Let go of whoever is told, who may hold this."""
        self._met = _ignore

    def modules(self) -> list[tuple[str, Any]]:
        """Return the outermost modules that still live, in order of their first call, with names."""
        return [(root.name, module) for root in list(self._roots.values()) if (module := root.ref()) is not None]

    def path(self, module: Any, parent: str, caller: FrameType) -> str:
        """Return the path of a module that begins to run inside the one at ``parent``, or in none (``""``)."""
        if not parent:
            root = self._root(module, caller)
            return root.path(module) or root.name
        holder = self._named.get(parent.partition("/")[0])
        known = None if holder is None else holder.paths.get(id(module))
        if known is None and holder is not None:
            holder.refresh()
            known = holder.path(module)
        return known or f"{parent}/{type(module).__name__}"

    def _root(self, module: Any, caller: FrameType) -> Root:
        """Return what is known of an outermost module; a new one gets the name of the user's variable."""
        root = self._roots.get(id(module))
        if root is not None and root.ref() is module:
            return root
        for identity in [identity for identity, other in self._roots.items() if other.ref() is None]:
            del self._named[self._roots.pop(identity).name]
        root = Root(module, self._unused(variable_of(module, caller)))
        root.refresh()
        self._roots[id(module)] = self._named[root.name] = root
        number, self._count = self._count, self._count + 1
        self._met(root.name, module, number, caller)
        return root

    def _unused(self, name: str) -> str:
        """Return a name that no other outermost module has."""
        number, unused = 1, name
        while unused in self._named:
            number += 1
            unused = f"{name}_{number}"
        return unused


def _ignore(name: str, module: Any, number: int, caller: FrameType) -> None:
    """Stand for whoever was told of modules."""


def variable_of(value: Any, caller: FrameType, *, deep: bool = True) -> str:
    """Return the user's variable that holds a module or optimizer, else the name of its class.

    ``deep`` also looks into lists, dictionaries and objects that variables hold.
    """
    found = search(frame_variables(user_frames(caller)), {id(value)}, lambda one: False, deep=deep)
    name = found.variables.get(id(value), "").rpartition(".")[2].replace("/", "∕")
    return type(value).__name__ if name in ("", "self") else name


def name_after_modules(table: TensorTable, tensors: list[Any], caller: FrameType, sort: type) -> None:
    """Name parameters after modules that the user's variables hold: nobody may ever call these.

    ``sort``: the class of all tensors.  What a module's call has named already ends like that.
    """
    wanted = {id(one): one for one in tensors}
    found = search(frame_variables(user_frames(caller)), set(wanted), lambda value: issubclass(type(value), sort))
    for identity, (dotted, scope) in parameter_names(found.modules, set(wanted)).items():
        number, own = table.known(wanted[identity]), dotted.rpartition(".")[2]
        facts = None if number is None else table.entered(number)
        if facts is not None and facts.name.rpartition(".")[2] != own:
            path = scope.replace("/", ".").removeprefix("self.")
            table.name(wanted[identity], f"{path}.{own}", parameter=True)


def below(path: str, around: str) -> str:
    """Return what a module's path adds to that of the module around it (``""``: none)."""
    if not around:
        return path
    return path[len(around) + 1 :] if path.startswith(f"{around}/") else path.rpartition("/")[2]
