"""``ModuleChanges``: what events say of modules that a program switches to another mode, or fills from a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..bounded import BoundedDict
from ..program.modules import attributes_of, held_parameters, inner_modules, is_training
from .object_numbers import ObjectNumbers

_SHOWN = 10
"""Names of entries that are told of one state."""


class ModuleChanges:
    """Knows the mode of every module that was switched."""

    def __init__(self) -> None:
        self._numbers = ObjectNumbers()
        self._modes: BoundedDict[int, bool] = BoundedDict(100_000)

    def switched(self, module: Any, training: bool) -> list[tuple[int, str]]:
        """Note that a module is about to be switched; return number and name of those whose results that changes."""
        changed = []
        for path, one in inner_modules(module):
            number = self._numbers.of(one)
            if self._modes.get(number, is_training(one)) != training:
                self._modes[number] = training
                if _depends_on_mode(one):
                    changed.append((number, f"{path} ({type(one).__name__})" if path else type(one).__name__))
        return changed


def switching(
    module: Any, changed: list[tuple[int, str]], training: bool, known: Callable[[Any], int | None]
) -> dict[str, Any]:
    """Return what is told of a module that is switched; ``known`` gives the numbers of parameters."""
    inputs = [number for _, one in held_parameters(module) if (number := known(one)) is not None]
    data: dict[str, Any] = {"type": type(module).__name__, "value": training, "inputs": inputs}
    return data | {"modules": [number for number, _ in changed], "names": [path for _, path in changed][:_SHOWN]}


def loaded(module: Any, state: Any, result: Any, known: Callable[[Any], int | None]) -> dict[str, Any] | None:
    """Return what is told of a state that was loaded into a module; None if that does not tell how it went."""
    missing, unexpected = getattr(result, "missing_keys", None), getattr(result, "unexpected_keys", None)
    if not isinstance(state, Mapping) or missing is None or unexpected is None:
        return None
    inputs = [number for _, one in held_parameters(module) if (number := known(one)) is not None]
    return {
        "type": type(module).__name__,
        "inputs": inputs,
        "matched": max(len(state) - len(unexpected), 0),
        "missing_count": len(missing),
        "unexpected_count": len(unexpected),
        "missing": list(missing[:_SHOWN]),
        "unexpected": list(unexpected[:_SHOWN]),
    }


def _depends_on_mode(module: Any) -> bool:
    """Whether what a module computes depends on its mode: its ``forward`` reads ``training``, and drops something."""
    own = attributes_of(module)
    code = getattr(own.get("forward") or getattr(type(module), "forward", None), "__code__", None)
    drops_nothing = own.get("p", own.get("dropout")) == 0
    declared = getattr(type(module), "_training", True)  # of our engine: its layers have one forward together
    return code is not None and "training" in code.co_names and not drops_nothing and declared
