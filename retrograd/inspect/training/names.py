"""Names of parameters: from the given modules, otherwise from the program's variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from ..program.frames import user_frames
from ..program.modules import is_module
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


def names_of(engine: Engine, parameters: Sequence[Any], given: Mapping[int, str], frame: FrameType) -> list[str]:
    """Return a name for each of some parameters, each another one."""
    wanted = {id(one) for one in parameters if id(one) not in given}
    names = dict(given)
    if wanted:
        found = search(frame_variables(user_frames(frame)), wanted, engine.is_tensor)
        in_modules = parameter_names(found.modules, wanted)
        names |= found.variables | {key: one.name for key, one in in_modules.items()}
    result: list[str] = []
    taken: set[str] = set()
    for place, one in enumerate(parameters):
        name = names.get(id(one), f"parameter {place}")
        while name in taken:
            name += "'"
        taken.add(name)
        result.append(name)
    return result
