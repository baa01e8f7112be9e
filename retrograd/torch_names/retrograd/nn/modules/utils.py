"""``torch.nn.modules.utils``: one size for every dimension, or the sizes given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes ``n`` of one value, and a tuple of several."""

    def parse(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, Iterable) else tuple(repeat(value, n))

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix such as ``module.`` off the names in a state dict, and off those of its metadata."""
    for name in [name for name in state_dict if name.startswith(prefix)]:
        state_dict[name[len(prefix) :]] = state_dict.pop(name)
    versions = getattr(state_dict, "_metadata", {})
    for name in [name for name in versions if f"{name}.".startswith(prefix)]:
        versions[name[len(prefix) :]] = versions.pop(name)


def _reverse_repeat_tuple(values: Iterable[Any], n: int) -> tuple[Any, ...]:
    """The values from the last to the first, each ``n`` times."""
    return tuple(value for value in reversed(tuple(values)) for _ in range(n))
