"""Names of the modules inside a module."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from ..bounded import BoundedDict
from ..program.frames import user_frames
from ..program.modules import attributes_of, held_parameters, inner_modules, is_module
from ..program.names import (
    MAX_LEVELS,
    MAX_VISITS,
    contents,
    frame_variables,
    outer_variables,
    parameter_names,
    search,
)
from ..program.syntax import loop_variables
from ..recording.tensor_table import TensorTable
from ..references import Reference

_DEAD = 250
"""Entries of dead modules kept in addition to as many as are live: scanning for them costs more than they take."""
_MOST_HOLDERS = 100
"""Modules that are checked for holding another one: a list may have thousands."""


class Root:
    """A module that no other module holds, and the names of everything in it."""

    __slots__ = ("name", "paths", "ref", "spelled")

    def __init__(self, module: Any, name: str, spelled: str) -> None:
        self.ref = Reference(module)
        self.name = name
        self.spelled = spelled
        """Its name in the program: ``trainer.net``."""
        self.paths: dict[int, str] = {}

    def path(self, module: Any) -> str | None:
        """Return the scope of one of its modules: ``model/layers/0/linear1``."""
        return self.paths.get(id(module))

    def spelling(self, path: str) -> str:
        """Return a module's name in the program, by its path: ``trainer.net.layers.0``."""
        return self.spelled + path[len(self.name) :].replace("/", ".")

    def refresh(self) -> None:
        """Read the names again, since modules may have been added."""
        self.paths = {}
        module = self.ref()
        if module is None:
            return
        for dotted, inner in inner_modules(module):
            self.paths[id(inner)] = "/".join([self.name, *dotted.split(".")]) if dotted else self.name


class Called(NamedTuple):
    """A module that is called outside of any other one for the first time."""

    module: Any
    name: str
    """Its name in the program: the outermost module's variable, and the path from there."""
    scope: str
    """Its path among modules."""
    number: int
    caller: FrameType
    """The frame that called it."""


class _Home(NamedTuple):
    """The root and path of a module that is called outside of others."""

    module: Reference
    root: Root
    path: str


class Roots:
    """The outermost modules of a watched program, and the paths of everything in them."""

    def __init__(self, met: Callable[[Called], None]) -> None:
        self._homes: dict[int, _Home] = {}
        """Modules that were called outside of any other one, by ``id``."""
        self._count = 0
        """Number of roots so far."""
        self._most = _DEAD
        """Number of entries above which dead ones are removed."""
        self._holding: dict[str, Root] = {}
        """Roots that hold other modules, by name."""
        self._tried: dict[str, int] = {}
        """By name: the highest number used by living modules."""
        self._named: dict[str, Root] = {}
        """The outermost modules by their names, in order of their first call."""
        self._beside: BoundedDict[int, tuple[Reference, str]] = BoundedDict(10_000)
        """Modules that were found next to another one, in a list or dictionary: they need not be searched for."""
        self._met = met
        """Called with modules that are called outside of others for the first time."""

    def close(self) -> None:
        """Release the callback, which may refer to this object."""
        self._met = _ignore

    def modules(self) -> list[tuple[str, Any]]:
        """Return the roots that are still alive, in order of their first call, with names."""
        found = [(root.name, root.ref()) for root in list(self._named.values())]
        return [(name, module) for name, module in found if module is not None]

    def path(self, module: Any, parent: str, caller: FrameType) -> str:
        """Return the path of a module that begins to run inside the one at ``parent``, or in none (``""``)."""
        if not parent:
            home = self._homes.get(id(module))
            return home.path if home is not None and home.module() is module else self._find(module, caller)
        holder = self._named.get(parent.partition("/")[0])
        known = None if holder is None else holder.paths.get(id(module))
        if known is None and holder is not None:
            self._read(holder)
            known = holder.path(module)
        return known or f"{parent}/{type(module).__name__}"

    def _find(self, module: Any, caller: FrameType) -> str:
        """Return the path of a module that was not called outside of others before, in its root."""
        if len(self._homes) >= self._most:
            self._throw_out()
        root = self._root_of(module, caller)
        path = root.path(module) or root.name
        self._homes[id(module)] = _Home(Reference(module), root, path)
        number, self._count = self._count, self._count + 1
        self._met(Called(module, root.spelling(path), path, number, caller))
        return path

    def _throw_out(self) -> None:
        """Remove dead modules."""
        self._homes = {key: home for key, home in self._homes.items() if home.module() is not None}
        self._named = {name: root for name, root in self._named.items() if root.ref() is not None}
        self._holding = {name: root for name, root in self._holding.items() if root.ref() is not None}
        self._tried.clear()
        self._most = 2 * len(self._homes) + _DEAD

    def _root_of(self, module: Any, caller: FrameType) -> Root:
        """Return the root that holds a module; a new one is named after the user's variable."""
        for root in list(self._holding.values()):
            if id(module) in root.paths:
                root.refresh()
                if id(module) in root.paths:
                    return root
        beside = self._beside.pop(id(module), None)
        if beside is not None and beside[0]() is module:
            holder, spelled = module, beside[1]
        else:
            holder, spelled, others = outermost(module, caller)
            for path, one in others:
                self._beside[id(one)] = Reference(one), path
        name = spelled.rpartition(".")[2].replace("/", "∕")
        kind = type(holder).__name__
        root = Root(holder, self._unused(kind if name in ("", "self") else name), spelled or kind)
        self._named[root.name] = root
        self._read(root)
        return root

    def _read(self, root: Root) -> None:
        """Read the names of all modules in a root."""
        root.refresh()
        if len(root.paths) > 1:
            self._holding[root.name] = root

    def _unused(self, name: str) -> str:
        """Return a name that no other root has; the name of a dead one is free again."""
        number, unused = 1, name
        while (root := self._named.get(unused)) is not None and root.ref() is not None:
            number = max(number, self._tried.get(name, 1)) + 1
            unused = f"{name}_{number}"
        for table in (self._named, self._holding):
            table.pop(unused, None)
        self._tried[name] = number
        return unused


def outermost(module: Any, caller: FrameType) -> tuple[Any, str, list[tuple[str, Any]]]:
    """Return the largest module in the user's variables that contains a module, and its variable.

    If it is the module itself, also return other modules found next to it.

    The outermost frame decides, and loop variables do not count: what a function calls ``net`` may be the program's
    ``model``. Lists, dictionaries and plain objects are searched if no variable holds it directly: ``trainer.net``.
    If nothing holds it, return the module itself and ``""``.
    """
    frames = list(user_frames(caller))
    passing = {name for one in frames for name in loop_variables(one.f_code.co_filename)}
    level = [pair for pair in outer_variables(frames) if pair[0] not in passing]
    level.sort(key=lambda pair: pair[0] == "self")  # any other name of the same module says more
    seen: set[int] = set()
    for _ in range(MAX_LEVELS if held_parameters(module) else 1):
        modules = [(path, one) for path, one in level if is_module(one)]
        held = [(path, one) for path, one in modules if one is module]
        within = [pair for pair in modules if attributes_of(pair[1]).get("_modules")][:_MOST_HOLDERS]
        if held := [*(pair for pair in within if _holds(pair[1], module)), *held]:
            path, holder = max(held, key=lambda pair: len(list(inner_modules(pair[1]))))
            return holder, path, modules if holder is module else []
        holders = [(path, one) for path, one in level if not is_module(one) and id(one) not in seen]
        seen.update(id(one) for _, one in holders)
        level = [item for path, one in holders for item in contents(path, one)][:MAX_VISITS]
    return module, "", []


def _holds(holder: Any, module: Any) -> bool:
    return any(one is module for _, one in inner_modules(holder))


def _ignore(called: Called) -> None:
    """Do nothing."""


def variable_of(value: Any, caller: FrameType, *, deep: bool = True) -> str:
    """Return the user's variable that holds a module or optimizer, else the name of its class.

    ``deep`` also looks into lists, dictionaries and objects that variables hold.
    """
    found = search(frame_variables(user_frames(caller)), {id(value)}, lambda one: False, deep=deep)
    name = found.variables.get(id(value), "").rpartition(".")[2].replace("/", "∕")
    return type(value).__name__ if name in ("", "self") else name


def name_after_modules(table: TensorTable, tensors: list[Any], caller: FrameType, sort: type) -> None:
    """Name parameters after modules in the user's variables, which may never be called.

    ``sort`` is the class of all tensors.
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
    """Return a module's path relative to that of the module around it (``""``: none)."""
    if not around:
        return path
    return path[len(around) + 1 :] if path.startswith(f"{around}/") else path.rpartition("/")[2]
