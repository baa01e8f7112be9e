"""``TensorFacts``: what a recording knows about one tensor of the watched program, without holding it.

Tensors are numbered in the order in which they were first seen; events name them by that number, the row of
``Recording.tensors``.  The same live tensor object has one number; memory that several tensors share has one
``storage`` number, so that a write through ``.data`` is seen to hit what another tensor saved.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..graphs.columns import Plain, len_checked, source_from_plain, text_checked
from ..program.places import SourceLine


@dataclass(slots=True)
class TensorFacts:
    """One tensor, as it was when first seen; events report later changes."""

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    storage: int | None = None
    """Number of its memory; equal numbers share memory."""
    requires_grad: bool = False
    leaf: bool = True
    name: str = ""
    """Variable (``h``), parameter (``encoder.0.weight``) or dictionary entry (``fast['gate']``), ``""`` if unknown."""
    parameter: bool = False
    """Whether it is a parameter of a module."""
    made_by: int | None = None
    """Index in ``Recording.events`` of the call that returned it; ``None`` if it existed before."""
    view_of: int | None = None
    """The tensor it is a view of, when that was seen."""
    kept: bool = False
    """Whether it was still alive when the recording ended."""
    source: SourceLine | None = None
    """The user's line that made it, or that first used it if ``made_by`` is ``None``."""
    holder: str = ""
    """What held it after the step in which it was made, according to the garbage collector."""
    lasted: int | None = None
    """Event index of the last count of live tensors, before a backward pass, that included it."""
    layout: tuple[int, ...] | None = None
    """For a tensor that is part of its memory: its offset and strides, in entries."""

    @property
    def floating(self) -> bool:
        """Whether it has a floating or complex dtype, and can have a gradient."""
        return self.dtype.startswith(("float", "bfloat", "complex"))

    def to_plain(self) -> dict[str, Plain]:
        """Return the facts as JSON values, without default values."""
        plain: dict[str, Plain] = {"shape": list(self.shape), "dtype": self.dtype}
        for key in _OPTIONAL:
            value = getattr(self, key)
            if value != _USUAL[key]:
                plain[key] = value
        if self.source is not None:
            plain["source"] = self.source.plain()
        return plain

    @classmethod
    def from_plain(cls, plain: Plain) -> TensorFacts:
        """Return the facts that ``to_plain`` described; raises ``ValueError``, ``TypeError`` or ``KeyError``."""
        found = cls(tuple(map(len_checked, plain["shape"])), text_checked(plain["dtype"]))
        for key in _OPTIONAL:
            if key in plain:
                setattr(found, key, plain[key])
        for number in (found.storage, found.made_by, found.view_of, found.lasted):
            if number is not None:
                len_checked(number)
        if found.layout is not None:
            found.layout = tuple(map(len_checked, found.layout))
        text_checked(found.name)
        text_checked(found.holder)
        found.source = source_from_plain(plain.get("source"))
        return found


_OPTIONAL = ("storage", "requires_grad", "leaf", "name", "parameter", "made_by", "view_of", "kept", "lasted", "layout")
_USUAL = {key: getattr(TensorFacts(), key) for key in _OPTIONAL}
