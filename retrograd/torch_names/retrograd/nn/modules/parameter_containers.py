"""Containers of parameters, by number and by name."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any, Self

from ...engine.tensors.parameter import Parameter
from ...engine.tensors.tensor import Tensor
from ..module import Module


def _described(value: Any, kind: str) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{what} containing: [{value.dtype if kind == 'list' else value.type()} of size {_times(value)}]"


def _times(value: Any) -> str:
    return "x".join(map(str, value.shape))


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list of parameters and other things; tensors become parameters."""

    __module__ = "retrograd.nn.modules.container"

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def _at(self, index: int) -> str:
        at = operator.index(index)
        if not -self._size <= at < self._size:
            raise IndexError(f"index {at} is out of range")
        return str(at % self._size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(getattr(self, str(i)) for i in range(*index.indices(self._size)))
        return getattr(self, self._at(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._at(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self._size)])

    def append(self, value: Any) -> ParameterList:
        """Add at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add several at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")

    def extra_repr(self) -> str:
        """A line for each entry."""
        return "\n".join(f"  ({i}): {_described(value, 'list')}" for i, value in enumerate(self))


def _as_name(key: Any) -> str:
    """A key; ``TypeError`` for what is not a string."""
    if not isinstance(key, str):
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string "
            f"(type is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
        )
    return key


class ParameterDict(Module):
    """Parameters and other things by name; tensors become parameters."""

    __module__ = "retrograd.nn.modules.container"

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, _as_name(key))

    def __setitem__(self, key: str, value: Any) -> None:
        name = _as_name(key)
        self._keys[name] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or ``default``."""
        found = key in self
        return self[key] if found else default

    def pop(self, key: str) -> Any:
        """Take a value out."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out what came last, with its name."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a name, which is ``default`` if it had none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take everything out."""
        for key in list(self._keys):
            del self[key]

    def update(self, parameters: Any) -> None:
        """Add values from a mapping or from pairs; those of a plain ``dict`` in the order of their names."""
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        if not isinstance(pairs, Iterable):
            kind = type(parameters).__name__
            raise TypeError(
                f"ParametersDict.update should be called with an iterable of key/value pairs, but got {kind}"
            )
        for name, value in sorted(pairs) if type(parameters) is dict else pairs:
            self[name] = value

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another dictionary, with one value under all names."""
        return ParameterDict([(key, default) for key in keys])

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def copy(self) -> ParameterDict:
        """Another dictionary with the same parameters."""
        return ParameterDict(list(self.items()))

    def __or__(self, other: Any) -> ParameterDict:
        joined = self.copy()
        joined |= other
        return joined

    def __ror__(self, other: Any) -> Any:
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def extra_repr(self) -> str:
        """A line for each entry."""
        return "\n".join(f"  ({name}): {_described(value, 'dict')}" for name, value in self.items())
