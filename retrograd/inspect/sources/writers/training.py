"""Writes events of training calls other than steps: modes, loaded states, scaled and clipped gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...bounded import BoundedDict
from ...program.modules import attributes_of, held_parameters, inner_modules, is_training
from ...program.places import SourceLine
from ...recording.events import Event
from ..base import Watch
from ..object_numbers import ObjectNumbers

_SHOWN = 10
"""Largest number of entries reported for one state."""


class ModuleChanges:
    """Knows the mode of every module that was switched."""

    def __init__(self) -> None:
        self._numbers = ObjectNumbers()
        self._modes: BoundedDict[int, bool] = BoundedDict(100_000)

    def number(self, module: Any) -> int:
        """Return the number of a module."""
        return self._numbers.of(module)

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


def tell_mode(
    watch: Watch, module: Any, number: int, changed: list[tuple[int, str]], training: bool, line: SourceLine | None
) -> None:
    """Send that a module was switched, and with it those that ``switched`` returned."""
    data: dict[str, Any] = {"type": type(module).__name__, "owner": number, "value": training}
    data["inputs"] = _known_within(watch, module)
    data |= {"modules": [number for number, _ in changed], "names": [path for _, path in changed][:_SHOWN]}
    watch.sink(Event("mode", "train" if training else "eval", line, data))


def tell_load(watch: Watch, module: Any, state: Any, result: Any, line: SourceLine | None) -> None:
    """Send that a state was loaded into a module, if the result says how that went."""
    missing, unexpected = getattr(result, "missing_keys", None), getattr(result, "unexpected_keys", None)
    if not isinstance(state, Mapping) or missing is None or unexpected is None:
        return
    data: dict[str, Any] = {
        "type": type(module).__name__,
        "inputs": _known_within(watch, module),
        "matched": max(len(state) - len(unexpected), 0),
        "missing_count": len(missing),
        "unexpected_count": len(unexpected),
        "missing": list(missing[:_SHOWN]),
        "unexpected": list(unexpected[:_SHOWN]),
    }
    watch.sink(Event("load", data["type"], line, data))


def tell_scaling(watch: Watch, function: str, given: Any, line: SourceLine | None) -> None:
    """Send that a loss was scaled, or that an optimizer's gradients were unscaled or its step was taken."""
    groups = getattr(given, "param_groups", ())
    data = {"inputs": _known(watch, [one for group in groups for one in group["params"]])}
    watch.sink(Event("scaling", function, line, data))


def tell_clip(
    watch: Watch,
    function: str,
    parameters: Sequence[Any],
    bound: Any,
    run: int | None,
    line: SourceLine | None,
    *,
    read_once: bool,
) -> None:
    """Send that gradients of these parameters are clipped, if any; ``read_once``: an iterator was passed."""
    data: dict[str, Any] = {"inputs": watch.numbers(parameters, line), "bound": float(bound), "read_once": read_once}
    if run is not None:
        data["run"] = run
    watch.sink(Event("clip", function, line, data))


def _known_within(watch: Watch, module: Any) -> list[int]:
    """Return the numbers of a module's parameters that have been seen."""
    return _known(watch, [parameter for _, parameter in held_parameters(module)])


def _known(watch: Watch, tensors: Sequence[Any]) -> list[int]:
    return [number for number in watch.sink.tensors.numbers(tensors) if number is not None]


def _depends_on_mode(module: Any) -> bool:
    """Whether a module's result depends on its mode: its ``forward`` reads ``training``, and drops something."""
    own = attributes_of(module)
    code = getattr(own.get("forward") or getattr(type(module), "forward", None), "__code__", None)
    drops_nothing = own.get("p", own.get("dropout")) == 0
    declared = getattr(type(module), "_training", True)  # of our engine: its layers have one forward together
    return code is not None and "training" in code.co_names and not drops_nothing and declared
