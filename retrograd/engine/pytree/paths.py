"""Paths of leaves in a tree: keys from the root down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from .specs import FieldNames
from .trees import IsLeaf, TreeSpec, tree_flatten, tree_unflatten


@dataclass(frozen=True)
class SequenceKey:
    """An index of a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, parent: Any) -> Any:
        """The element."""
        return parent[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A key of a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, parent: Any) -> Any:
        """The value."""
        return parent[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """A field of a named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        """The attribute."""
        return getattr(parent, self.name)


class KeyEntry(Protocol):
    """What a path is made of."""

    def get(self, parent: Any) -> Any:
        """Return the entry under this key."""
        ...


KeyPath = tuple[KeyEntry, ...]


def _keys(spec: TreeSpec) -> Iterable[Any]:
    if isinstance(spec.context, FieldNames):
        return [GetAttrKey(name) for name in spec.context.present]
    context = spec.context[1] if isinstance(spec.context, tuple) else spec.context  # default dictionaries
    if isinstance(context, list):
        return [MappingKey(key) for key in context]
    fields = getattr(spec.type, "_fields", None)
    return [GetAttrKey(n) for n in fields] if fields else [SequenceKey(i) for i in range(len(spec.children_specs))]


def _paths(spec: TreeSpec, above: KeyPath = ()) -> Iterator[KeyPath]:
    if spec.type is None:
        yield above
        return
    for key, child in zip(_keys(spec), spec.children_specs, strict=True):
        yield from _paths(child, (*above, key))


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Pairs of path and leaf from left to right, and the shape of the tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return list(zip(_paths(spec), leaves, strict=True)), spec


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> list[tuple[KeyPath, Any]]:
    """Pairs of path and leaf from left to right."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The same tree with ``func(path, leaf, *leaves_of_rests)`` in place of each leaf."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [list(_paths(spec)), leaves, *(tree_flatten(rest, is_leaf)[0] for rest in rests)]
    return tree_unflatten([func(*row) for row in zip(*columns, strict=True)], spec)


def keystr(kp: KeyPath) -> str:
    """A path as an expression: ``['a'][0]``."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return the entry at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj
