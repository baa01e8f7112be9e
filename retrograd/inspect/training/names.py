"""Names of parameters: from the given modules, otherwise from the program's variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from ..program.frames import user_frames
from ..program.modules import held_parameters, is_module
from ..program.names import frame_variables, parameter_names, search
from .engines import Engine


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
