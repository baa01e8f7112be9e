"""Containers of modules; those of parameters are re-exported, as PyTorch has them in one file."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..module import Module
from .parameter_containers import ParameterDict, ParameterList


class _Numbered(Module):
    """Modules under the names 0, 1, …, with the ways of a list."""

    def _at(self, index: Any) -> str:
        count, at = len(self._modules), operator.index(index)
        if not -count <= at < count:
            raise IndexError(f"index {at} is out of range")
        names: list[str] = list(self._modules)
        return names[at]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            chosen = list(self._modules.items())[index]
            return type(self)(OrderedDict(chosen) if isinstance(self, Sequential) else [m for _, m in chosen])
        return self._modules[self._at(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._at(index), module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._at(index)]
        for name in names:
            delattr(self, name)
        self.__dict__["_modules"] = OrderedDict(_numbered(self._modules.values()))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before another."""
        self._check_insertion(index, module)
        modules = list(self._modules.values())
        modules.insert(index, module)
        self.__dict__["_modules"] = dict(_numbered(modules))
        return self

    def _check_insertion(self, index: int, module: Any) -> None:
        """``TypeError`` for what is not a module; a list takes any place, as Python's lists do."""
        if not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end."""
        if isinstance(self, ModuleList) and not isinstance(modules, Iterable):
            kind = type(modules).__name__
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {kind}")
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: Any) -> Module:
        """Take a module out."""
        taken: Module = self[key]
        del self[key]
        return taken

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> Any:
        return Sequential(*self, *other) if isinstance(self, Sequential) else ModuleList([*self, *other])


def _numbered(modules: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(str(i), module) for i, module in enumerate(modules)]


class Sequential(_Numbered):
    """Modules one after the other; given in order or as an ``OrderedDict``."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        given = modules[0].items() if len(modules) == 1 and isinstance(modules[0], OrderedDict) else _numbered(modules)
        for name, module in given:
            self.add_module(name, module)

    def __mul__(self, times: Any) -> Any:
        """The modules several times over, the same ones."""
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return Sequential(*[*self] * times)

    __rmul__ = __mul__

    def _check_insertion(self, index: int, module: Any) -> None:
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}, but got {type(module)}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")

    def __add__(self, other: Any) -> Any:
        return super().__add__(_only_sequential(other))

    def __iadd__(self, other: Any) -> Any:
        return super().__iadd__(_only_sequential(other))

    def __imul__(self, times: Any) -> Any:
        return self.extend([*self] * (times - 1)) if times > 0 else self * times

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Apply every module in turn."""
        for module in self._modules.values():
            input = module(input)  # noqa: A001
        return input


def _only_sequential(other: Any) -> Any:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
    return other


class ModuleList(_Numbered):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def insert(self, index: int, module: Module) -> None:
        """Add a module before another; nothing is returned, as by Python's lists."""
        super().insert(index, module)

    def __repr__(self) -> str:
        groups: list[tuple[int, int, str]] = []
        for i, module in enumerate(self):
            text = repr(module)
            if groups and groups[-1][2] == text:
                groups[-1] = (groups[-1][0], i, text)
            else:
                groups.append((i, i, text))
        lines = [
            (f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}").replace("\n", "\n  ")
            for a, b, text in groups
        ]
        return f"{type(self).__name__}(" + ("\n  " + "\n  ".join(lines) + "\n" if lines else "") + ")"


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take a module out."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs."""
        if not isinstance(modules, Iterable):
            kind = type(modules).__name__
            raise TypeError(f"ModuleDict.update should be called with an iterable of key/value pairs, but got {kind}")
        for i, pair in enumerate(modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules):
            if not isinstance(pair, Iterable):
                kind = type(pair).__name__
                raise TypeError(f"ModuleDict update sequence element #{i} should be Iterable; is {kind}")
            entry = tuple(pair)
            if len(entry) != 2:
                raise ValueError(f"ModuleDict update sequence element #{i} has length {len(entry)}; 2 is required")
            self[entry[0]] = entry[1]


__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
