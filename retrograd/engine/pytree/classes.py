"""Classes of the program as containers: data classes by their fields, constants without leaves."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from .trees import register_pytree_node

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
