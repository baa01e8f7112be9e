"""Observes modules and optimizers: whose parameters a program trains."""

from __future__ import annotations

import sys
from typing import Any

from ....engine.views import requires_grad
from ...events import Event
from ...frames import source_line, user_frame, user_frames
from ...names import frame_variables, search, unregistered
from .. import named_scopes
from ..module_names import Root
from .caller import note_module
from .lines import Lines
from .watching import Observer, Watching, guarded


class Owners(Observer):
    """Sends ``module`` and ``optimizer``, and knows which module is running."""

    def __init__(self, watching: Watching, lines: Lines) -> None:
        super().__init__(watching)
        self._lines = lines
        self._call: Any = None
        self._roots: dict[int, Root] = {}
        self._optimizers: dict[int, tuple[Any, int]] = {}

    # -- modules
    @guarded
    def module_began(self, module: Any) -> None:
        """A module is called."""
        scopes = self.watching.here.scopes
        call = type(module).__call__.__code__
        if call is not self._call:
            self._call = call
            note_module(call)
        modules = self.watching.here.modules
        path = self._inner(module, modules[-1]) if modules else self._outermost(module)
        scopes.append(path if len(scopes) == len(modules) else f"{scopes[-1]}/{_below(path, modules)}")
        modules.append(path)
        self._lines.enter(scopes[-1])

    @guarded
    def module_ended(self, module: Any) -> None:
        """It is done."""
        here = self.watching.here
        if here.modules:
            here.modules.pop()
            self._leave(here.scopes)

    @guarded
    def scope_began(self, name: str) -> None:
        """A stretch of the program begins that the user gave a name."""
        scopes = self.watching.here.scopes
        scopes.append(f"{scopes[-1]}/{name}" if scopes else name)
        self._lines.enter(scopes[-1])
        named_scopes.tell(self.watching.sink, name, True)

    @guarded
    def scope_ended(self, name: str) -> None:
        """It is over."""
        self._leave(self.watching.here.scopes)
        named_scopes.tell(self.watching.sink, name, False)

    def _leave(self, scopes: list[str]) -> None:
        """Leave the innermost scope."""
        if scopes:
            scopes.pop()
        self._lines.enter(scopes[-1] if scopes else "")

    def modules(self) -> list[tuple[str, Any]]:
        """The outermost modules that still live, with names."""
        return [(root.name, module) for root in list(self._roots.values()) if (module := root.ref()) is not None]

    def _inner(self, module: Any, parent: str) -> str:
        top = parent.partition("/")[0]
        holder = next((root for root in self._roots.values() if root.name == top), None)
        if holder is None:
            return f"{parent}/{type(module).__name__}"
        known = holder.path(module)
        if known is None:
            holder.refresh()
            known = holder.path(module)
        return known or f"{parent}/{type(module).__name__}"

    def _outermost(self, module: Any) -> str:
        root = self._roots.get(id(module))
        if root is not None and root.ref() is module:
            return root.path(module) or root.name
        for identity in [identity for identity, other in self._roots.items() if other.ref() is None]:
            del self._roots[identity]
        caller = sys._getframe(2)
        root = Root(module, self._unused(_variable(module, caller)))
        root.refresh()
        self._roots[id(module)] = root
        self._report(module, root.name, caller)
        return root.name

    def _unused(self, name: str) -> str:
        taken = {root.name for root in self._roots.values()}
        number, unused = 1, name
        while unused in taken:
            number += 1
            unused = f"{name}_{number}"
        return unused

    def _report(self, module: Any, name: str, caller: Any) -> None:
        watching = self.watching
        line = source_line(user_frame(caller))
        parameters, frozen = {}, []
        for dotted, parameter in module.named_parameters():
            parameters[dotted] = watching.number(parameter)
            watching.sink.tensors.name(parameter, dotted, parameter=True)
            if not requires_grad(parameter):
                frozen.append(dotted)
        data: dict[str, Any] = {"name": name, "type": type(module).__name__, "parameters": parameters, "frozen": frozen}
        strangers = {dotted: watching.number(tensor) for dotted, tensor in unregistered(module)}
        if strangers:
            data["unregistered"] = strangers
        watching.send(Event("module", type(module).__name__, line, data | {"owner": len(self._roots) - 1}))

    # -- optimizers
    @guarded
    def optimizer(self, action: str, optimizer: Any) -> None:
        """An optimizer was made, steps, or clears gradients."""
        watching = self.watching
        known = self._optimizers.get(id(optimizer))
        number = len(self._optimizers) if known is None else known[1]
        self._optimizers[id(optimizer)] = (type(optimizer), number)
        caller = sys._getframe(2)
        data: dict[str, Any] = {"action": action, "type": type(optimizer).__name__, "owner": number}
        if known is None:
            data["name"] = _variable(optimizer, caller)
        line = source_line(user_frame(caller))
        data["parameters"] = {
            f"{i}.{j}": watching.number(p, line)
            for i, group in enumerate(optimizer.param_groups)
            for j, p in enumerate(group["params"])
        }
        watching.send(Event("optimizer", type(optimizer).__name__, line, data))
        if action == "zero_grad":
            for group in optimizer.param_groups:
                for p in group["params"]:
                    self._cleared(p, line)
        watching.here.quiet = action != "made"

    def _cleared(self, leaf: Any, line: Any) -> None:
        """Say that an optimizer is about to clear a leaf's gradient."""
        if leaf._meta is not None and leaf._meta.grad is not None and self.watching.wants("full"):
            data = {"tensor": self.watching.number(leaf, line), "change": "grad-cleared", "value": False}
            self.watching.send(Event("leaf", "zero_grad", line, data))

    def optimizer_done(self, optimizer: Any) -> None:
        """It is done."""
        self.watching.here.quiet = False


def _below(path: str, modules: list[str]) -> str:
    """What a module's path adds to that of the module around it."""
    if modules and path.startswith(f"{modules[-1]}/"):
        return path[len(modules[-1]) + 1 :]
    return path.rpartition("/")[2] if modules else path


def _variable(value: Any, caller: Any) -> str:
    """The user's variable that holds a module or optimizer, else the name of its class."""
    found = search(frame_variables(user_frames(caller)), {id(value)}, lambda one: False)
    name = found.variables.get(id(value), "").rpartition(".")[2].replace("/", "∕")
    return type(value).__name__ if name in ("", "self") else name
