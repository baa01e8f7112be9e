"""Recognizes tuples with named elements: named tuples, and those that the standard library defines in C."""

from __future__ import annotations

from typing import Any


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
