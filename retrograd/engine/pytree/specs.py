"""The structure of a tree: registered classes, named tuples, and how it is put together again."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from .trees import LeafSpec, TreeSpec, register_pytree_node, tree_flatten, tree_unflatten

# Classes of the program as containers: data classes by their fields, constants without leaves.

CONSTANT_NODES: set[type] = set()
"""Classes whose instances are constants."""


class FieldNames(NamedTuple):
    """Which fields of an instance hold something, and which hold ``None``."""

    present: list[str]
    absent: list[str]


class ConstantNode(NamedTuple):
    """An instance, kept in the description of its tree."""

    value: Any


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:  # fmt: skip
    """Treat instances of a data class (or of one that is made from ``field_names``) as containers of their fields."""
    names = _checked_names(cls, field_names, set(drop_field_names or ()))

    def flatten(instance: Any) -> tuple[list[Any], FieldNames]:
        values = {name: getattr(instance, name) for name in names}
        present = [name for name in names if values[name] is not None]
        return [values[name] for name in present], FieldNames(present, [n for n in names if values[n] is None])

    def unflatten(values: list[Any], found: Any) -> Any:
        return cls(**dict(zip(found.present, values, strict=True)), **dict.fromkeys(found.absent))

    register_pytree_node(cls, flatten, unflatten)


def _checked_names(cls: type, names: list[str] | None, dropped: set[str]) -> list[str]:
    """The fields; ``ValueError`` where those given are not all that a data class is made from."""
    if not dataclasses.is_dataclass(cls):
        if names is None:
            raise ValueError(
                "field_names must be specified with a list of all fields used to "
                f"initialize {cls}, as it is not a dataclass."
            )
        return names
    fields = [field.name for field in dataclasses.fields(cls) if field.init]
    if names is None:
        return fields
    missing, unexpected = set(fields) - dropped - set(names), set(names) - (set(fields) - dropped)
    if not missing and not unexpected:
        return names
    message = "field_names does not include all dataclass fields.\n"
    if missing:
        message += (
            f"Missing fields in `field_names`: {missing}. If you want to include these fields in the pytree, please "
            "add them to `field_names`, otherwise please add them to `drop_field_names`.\n"
        )
    if unexpected:
        message += (
            f"Unexpected fields in `field_names`: {unexpected}. Please remove these fields, or add them to "
            "`drop_field_names`.\n"
        )
    raise ValueError(message)


def register_constant(cls: type) -> None:
    """Treat instances of ``cls`` as containers without leaves."""
    for method, lacking in (("__eq__", object.__eq__), ("__hash__", None)):
        if getattr(cls, method) is lacking:
            raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `{method}` implementation.")
    register_pytree_node(cls, lambda instance: ([], ConstantNode(instance)), lambda _, kept: kept.value)
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type) -> bool:
    """Whether ``register_constant`` was called with the class."""
    return cls in CONSTANT_NODES


# Recognizes tuples with named elements: named tuples, and those that the standard library defines in C.


def is_namedtuple(obj: Any) -> bool:
    """Whether this is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: type) -> bool:
    """Whether instances of the class are named tuples."""
    fields = getattr(cls, "_fields", None)
    if not (isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)):
        return False
    return all(isinstance(field, str) for field in fields)


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether this is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether this is a tuple such as ``time.struct_time``, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether instances of the class are tuples such as ``time.struct_time``."""
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return isinstance(cls, type) and cls.__bases__ == (tuple,) and all(
        isinstance(getattr(cls, name, None), int) for name in counts
    )  # fmt: skip


def is_structseq_instance(obj: Any) -> bool:
    """Whether this is a tuple such as ``time.struct_time``."""
    return is_structseq_class(type(obj))


# Specs of trees: built by hand, printed, and serialized (JSON in PyTorch's form).

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
