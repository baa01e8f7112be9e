"""Nested containers as trees: flatten to a list of leaves plus a description, and put together again.

Containers are tuples (also named ones and named results), lists, dictionaries, ordered and default dictionaries,
deques and whatever ``register_pytree_node`` adds; everything else, ``None`` included, is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..return_types import RETURN_TYPES

Flatten = Callable[[Any], tuple[list[Any], Any]]
"""Container to (children, context)."""
Unflatten = Callable[[list[Any], Any], Any]
"""Children and context back to the container."""
IsLeaf = Callable[[Any], bool]


class NodeDef(NamedTuple):
    """How one type of container is taken apart and put together."""

    flatten: Flatten
    unflatten: Unflatten


class TreeSpec:
    """The shape of a tree: type and context of a container and the shapes of its children."""

    __module__ = "retrograd.utils._pytree"

    __slots__ = ("children_specs", "context", "num_leaves", "type")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = children_specs
        self.num_leaves: int = 1 if type is None else sum(spec.num_leaves for spec in children_specs)

    def is_leaf(self) -> bool:
        """Whether this describes a single leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Put ``leaves`` into this shape."""
        return tree_unflatten(leaves, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        mine = (self.type, self.context, self.children_specs)
        return mine == (other.type, other.context, other.children_specs)

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inner = f",\n{' ' * (indent + 2)}".join(spec.__repr__(indent + 2) for spec in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inner}])"


class LeafSpec(TreeSpec):
    """The shape of a single leaf."""

    __module__ = "retrograd.utils._pytree"

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def _unflatten_defaultdict(children: list[Any], context: tuple[Any, list[Any]]) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, children, strict=True))


_REGISTRY: dict[type, NodeDef] = {
    tuple: NodeDef(lambda t: (list(t), None), lambda c, _: tuple(c)),
    list: NodeDef(lambda t: (list(t), None), lambda c, _: list(c)),
    dict: NodeDef(lambda t: (list(t.values()), list(t)), lambda c, keys: dict(zip(keys, c, strict=True))),
    OrderedDict: NodeDef(lambda t: (list(t.values()), list(t)), lambda c, keys: OrderedDict(zip(keys, c, strict=True))),
    defaultdict: NodeDef(lambda t: (list(t.values()), (t.default_factory, list(t))), _unflatten_defaultdict),
    deque: NodeDef(lambda t: (list(t), t.maxlen), lambda c, maxlen: deque(c, maxlen)),
}
_REGISTRY.update(
    {kind: NodeDef(lambda t: (list(t), type(t)), lambda c, kind: kind(c)) for kind in RETURN_TYPES.values()}
)
_NAMED_TUPLE = NodeDef(lambda t: (list(t), type(t)), lambda c, cls: cls(*c))


def register_pytree_node(cls: type, flatten_fn: Flatten, unflatten_fn: Unflatten, **_unused: Any) -> None:
    """Treat instances of ``cls`` as containers; ``ValueError`` if it already is one."""
    if cls in _REGISTRY:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _REGISTRY[cls] = NodeDef(lambda t: _as_children(flatten_fn(t)), lambda c, context: unflatten_fn(c, context))


def _as_children(result: tuple[Iterable[Any], Any]) -> tuple[list[Any], Any]:
    children, context = result
    return list(children), context


def _node_def(tree: Any) -> NodeDef | None:
    found = _REGISTRY.get(type(tree))
    if found is None and isinstance(tree, tuple) and hasattr(type(tree), "_fields"):
        return _NAMED_TUPLE
    return found


def _spec_type(tree: Any) -> type:
    return type(tree) if type(tree) in _REGISTRY else tuple


def _flatten_into(tree: Any, leaves: list[Any], is_leaf: IsLeaf | None) -> TreeSpec:
    node = None if is_leaf is not None and is_leaf(tree) else _node_def(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten(tree)
    specs = [_flatten_into(child, leaves, is_leaf) for child in children]
    return TreeSpec(type(tree) if node is _NAMED_TUPLE else _spec_type(tree), context, specs)


def tree_flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of ``tree`` from left to right, and its shape."""
    leaves: list[Any] = []
    spec = _flatten_into(tree, leaves, is_leaf)
    return leaves, spec


def _unflatten(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    node = _REGISTRY.get(spec.type, _NAMED_TUPLE)
    return node.unflatten([_unflatten(leaves, child) for child in spec.children_specs], spec.context)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Put ``leaves`` back into the shape ``treespec``; ``ValueError`` if their number does not fit."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec "
            f"but got item of type {type(treespec)}."
        )
    values = list(leaves)
    if len(values) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(values)} "
            f"but the spec refers to a pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(values), treespec)


def tree_is_leaf(tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether ``tree`` is not a container."""
    return (is_leaf is not None and is_leaf(tree)) or _node_def(tree) is None


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of ``tree`` from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: IsLeaf | None = None) -> Iterable[Any]:
    """Iterate over the leaves of ``tree``."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf | None = None) -> TreeSpec:
    """The shape of ``tree``."""
    return tree_flatten(tree, is_leaf)[1]


def _flatten_up_to(tree: Any, spec: TreeSpec) -> list[Any]:
    """Parts of ``tree`` at the positions where ``spec`` has leaves."""
    if spec.type is None:
        return [tree]
    node = _node_def(tree)
    children = node.flatten(tree)[0] if node is not None else []
    if node is None or not isinstance(tree, spec.type) or len(children) != len(spec.children_specs):
        raise ValueError(
            f"Node type or arity mismatch; expected {spec.type} of {len(spec.children_specs)}, got {tree!r}"
        )
    found: list[Any] = []
    for child, child_spec in zip(children, spec.children_specs, strict=True):
        found.extend(_flatten_up_to(child, child_spec))
    return found


def broadcast_to(tree: Any, spec: TreeSpec) -> list[Any] | None:
    """One element of ``tree`` for each leaf of ``spec``: the element of a subtree is repeated for its leaves."""
    if not isinstance(tree, (tuple, list, dict)):
        return [tree] * spec.num_leaves
    if spec.is_leaf() or spec.type is not type(tree):
        return None
    inner = list(tree.values()) if isinstance(tree, dict) else list(tree)
    parts = spec.children_specs
    if len(parts) != len(inner):
        return None
    found: list[Any] = []
    for value, part in zip(inner, parts, strict=True):
        below = broadcast_to(value, part)
        if below is None:
            return None
        found += below
    return found


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The same tree with ``func(leaf, *leaves_of_rests)`` in place of each leaf."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(_flatten_up_to(rest, spec) for rest in rests)]
    return tree_unflatten([func(*row) for row in zip(*columns, strict=True)], spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Call ``func`` on every leaf for its effect and return ``tree`` itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


Selector = type | tuple[type, ...] | Callable[[Any], bool]


def _predicate(selector: Any) -> Callable[[Any], bool]:
    if isinstance(selector, type | tuple) or not callable(selector):
        return lambda leaf: isinstance(leaf, selector)
    return selector  # type: ignore[no-any-return]


def tree_map_only(selector: Selector, func: Any, tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """``tree_map`` that leaves alone what is not of the given type(s) or does not satisfy the given test."""
    wanted = _predicate(selector)
    return tree_map(lambda leaf: func(leaf) if wanted(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(selector: Selector, func: Any, tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """``tree_map_`` for leaves of the given type(s) or that satisfy the given test."""
    wanted = _predicate(selector)
    return tree_map_(lambda leaf: func(leaf) if wanted(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether every leaf satisfies ``pred``."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether some leaf satisfies ``pred``."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(selector: Selector, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether every leaf of the given type(s) satisfies ``pred``."""
    wanted = _predicate(selector)
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if wanted(leaf))


def tree_any_only(selector: Selector, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf | None = None) -> bool:
    """Whether some leaf of the given type(s) satisfies ``pred``."""
    wanted = _predicate(selector)
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if wanted(leaf))


def map_only(selector: Selector) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: what is not of the given type(s), or does not satisfy the given test, is returned as it is."""
    wanted = _predicate(selector)
    return lambda func: lambda leaf: func(leaf) if wanted(leaf) else leaf


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of all arguments of a call."""
    return tree_leaves([*args, *kwargs.values()])
