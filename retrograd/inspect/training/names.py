"""What is trained, with the names of its parameters: from the given modules, otherwise from the program's variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np

from ..histories.history import Array, Column, History
from ..program.frames import user_frames
from ..program.modules import held_parameters, inner_modules, is_module
from ..program.names import frame_variables, parameter_names, search
from ..references import Reference
from .by_hand import ByHand
from .engines import MEASURED, Engine, StepReader

_MOST_ENTRIES = 10_000_000
"""Entries of a parameter that are looked at one by one, at most."""


class Trained:
    """One optimizer with what it holds, or what stands for one."""

    def __init__(self, reader: StepReader | ByHand, parameters: list[Any], names: list[str], history: History) -> None:
        self._parameters, self.names, self.reader = parameters, names, reader
        self._known_rates: tuple[list[tuple[int, float]], Array] = [], np.full(len(names), np.nan)
        """Sizes and rates of the groups when they were read last, and the rates of the parameters."""
        columns = [Column(figure, name) for figure in MEASURED for name in names]
        self.places = history.places(columns).reshape(len(MEASURED), len(names))

    @property
    def parameters(self) -> list[Any]:
        """What is trained."""
        return self.reader.parameters if isinstance(self.reader, ByHand) else self._parameters

    def is_still(self, parameters: list[Any]) -> bool:
        """Whether these are the parameters; what a program makes anew in each step, others of the same number."""
        if isinstance(self.reader, ByHand) or len(parameters) != len(self.names):
            return len(parameters) == len(self.names)
        return all(one is other for one, other in zip(self._parameters, parameters, strict=True))

    def requires(self) -> Array:
        """Return which parameters require a gradient."""
        return np.array([one.requires_grad for one in self.parameters], bool)

    def rates(self, optimizer: Any) -> Array:
        """Return the learning rate of each parameter; NaN where it has none."""
        groups = [] if isinstance(optimizer, ByHand) else optimizer.param_groups
        known = [(len(one["params"]), float(one.get("lr", np.nan))) for one in groups]
        if known != self._known_rates[0]:
            rates = np.repeat([rate for _, rate in known], [count for count, _ in known])
            self._known_rates = known, rates if len(rates) == len(self.names) else self._known_rates[1]
        return self._known_rates[1]

    def entries(self, engine: Engine, place: int) -> tuple[Array, Array] | None:
        """Return which entries of a parameter's gradient, and of itself, are not zero; None if it has no gradient."""
        one = self.parameters[place]
        if one.grad is None or one.numel() > _MOST_ENTRIES:
            return None
        with engine.own_work():
            return engine.nonzero(one.grad), engine.nonzero(one)

    def named(self) -> Iterable[tuple[Any, str]]:
        """Return each parameter with its name."""
        return zip(self.parameters, self.names, strict=False)  # more may have been found that have no names yet

    def values(self) -> list[tuple[Any, Any]]:
        """Return each parameter with its value before the step."""
        if isinstance(self.reader, ByHand):
            return self.reader.values()
        return list(zip(self._parameters, self.reader.copies(), strict=True))


class Modes:
    """The modes, training or evaluation, in which modules are when their parameters are trained."""

    def __init__(self) -> None:
        self._modules: list[tuple[str, Reference]] = []
        self._seen: dict[str, set[str]] = {}

    def follow(self, engine: Engine, parameters: Sequence[Any], frame: FrameType) -> None:
        """Follow the modules that hold parameters, of those that the program's variables lead to."""
        wanted = {id(one) for one in parameters}
        found = search(frame_variables(user_frames(frame)), wanted, engine.is_tensor).modules
        held = [pair for pair in found if any(id(one) in wanted for _, one in held_parameters(pair[1]))]
        inside = {id(inner) for _, module in held for path, inner in inner_modules(module) if path}
        held = [(name, module) for name, module in held if id(module) not in inside]
        for name, module in held:
            for path, inner in inner_modules(module):
                shown = path if path and len(held) == 1 else ".".join(part for part in (name, path) if part)
                self._modules.append((shown, Reference(inner)))

    def note(self) -> None:
        """Note the modes that the modules are in."""
        for name, held in self._modules:
            mode = getattr(held(), "training", None)
            if mode is not None:
                self._seen.setdefault(name, set()).add("training" if mode else "evaluation")

    def seen(self) -> dict[str, str]:
        """Return the modes of each module."""
        return {name: " and ".join(sorted(modes)) for name, modes in self._seen.items()}


def held_by(optimizer: Any) -> list[Any]:
    """Return the parameters of all groups, each once."""
    if isinstance(optimizer, ByHand):
        return optimizer.parameters
    found = {id(one): one for group in optimizer.param_groups for one in group["params"]}
    return list(found.values())


def given_names(models: Any) -> dict[int, str]:
    """Return ``id`` -> name of the parameters of a module, or of several in a list or dictionary."""
    if models is None:
        return {}
    if is_module(models):
        return {id(one): name for name, one in models.named_parameters()}
    named = models.items() if isinstance(models, dict) else ((str(place), one) for place, one in enumerate(models))
    return {id(one): f"{name}.{path}" for name, module in named for path, one in module.named_parameters()}


def names_of(
    engine: Engine, parameters: Sequence[Any], given: Mapping[int, str], others: Mapping[int, str], frame: FrameType
) -> list[str]:
    """Return a name for each of some parameters, those that are given and those that others have not."""
    wanted = {id(one) for one in parameters if id(one) not in given}
    names = dict(given)
    if wanted:
        found = search(frame_variables(user_frames(frame)), wanted, engine.is_tensor)
        names |= found.variables | _in_modules(found.modules, wanted)
    taken = {name: key for key, name in others.items()}
    result: list[str] = []
    for place, one in enumerate(parameters):
        name = names.get(id(one), f"parameter {place}")
        while taken.setdefault(name, id(one)) != id(one):
            name += "'"
        result.append(name)
    return result


def _in_modules(modules: Sequence[tuple[str, Any]], wanted: set[int]) -> dict[int, str]:
    """Return the names that modules have for parameters, with their own in front where another one has the same."""
    named = parameter_names(modules, wanted)
    names = {one.name for one in named.values()}
    trained = [{id(one): name for name, one in held_parameters(module) if one.requires_grad} for _, module in modules]
    known = set[int]().union(*(one for one in trained if one.keys() & wanted))
    if not any(name in names for one in trained for key, name in one.items() if key not in known):
        return {key: one.name for key, one in named.items()}
    return {key: ".".join([*one.scope.split("/"), one.name.rpartition(".")[2]]) for key, one in named.items()}
