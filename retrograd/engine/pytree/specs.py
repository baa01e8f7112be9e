"""Specs of trees: built by hand, printed, and serialized (JSON in PyTorch's form)."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any, Final

from .trees import LeafSpec, TreeSpec, tree_flatten, tree_unflatten

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL: Final = 1
_WRITTEN: Final[dict[type, str]] = {
    tuple: "builtins.tuple", list: "builtins.list", dict: "builtins.dict",
    OrderedDict: "collections.OrderedDict", deque: "collections.deque",
}  # fmt: skip
_READ: Final = {name: kind for kind, name in _WRITTEN.items()}


class _Star:
    """Stands for a leaf where a shape is shown."""

    def __repr__(self) -> str:
        return "*"


def treespec_leaf() -> TreeSpec:
    """The shape of a leaf."""
    return LeafSpec()


def treespec_tuple(iterable: Iterable[TreeSpec] = ()) -> TreeSpec:
    """The shape of a tuple of trees of these shapes."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), **kwargs: TreeSpec) -> TreeSpec:
    """The shape of a dictionary of trees of these shapes."""
    given = dict(mapping, **kwargs)
    return TreeSpec(dict, list(given), list(given.values()))


def treespec_pprint(treespec: TreeSpec) -> str:
    """The tree with stars for leaves."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """The shape as text."""
    chosen = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    _check_protocol(chosen)
    return json.dumps((chosen, _written(treespec)))


def treespec_loads(serialized: str) -> TreeSpec:
    """The shape that the text describes."""
    protocol, written = json.loads(serialized)
    _check_protocol(protocol)
    return _read(written)


def _check_protocol(protocol: int) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")


def _written(spec: TreeSpec) -> dict[str, Any]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    if spec.type not in _WRITTEN:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    children = [_written(child) for child in spec.children_specs]
    return {"type": _WRITTEN[spec.type], "context": json.dumps(spec.context), "children_spec": children}


def _read(written: dict[str, Any]) -> TreeSpec:
    if written["type"] is None:
        return tree_flatten(0)[1]
    if written["type"] not in _READ:
        raise NotImplementedError(f"Deserializing {written['type']} in pytree is not registered.")
    children = [_read(child) for child in written["children_spec"]]
    return TreeSpec(_READ[written["type"]], json.loads(written["context"]), children)
