"""Operator schemas: ``ns::name(Tensor x, int k=3, *, Tensor(a!) out) -> Tensor`` as a value, which prints as its text.

Reading the text is in ``schema_parser``, inference from annotations in ``schema_inference``, checking of a call in
``schema_binding``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

_SHOWN: Final = {"SymInt": "int", "Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int"}


@dataclass(frozen=True, slots=True)
class SchemaType:
    """A type such as ``Tensor?[]``: the base and what is wrapped around it, innermost first (``?``, ``[]``)."""

    base: str
    wrappers: tuple[str, ...] = ()

    @property
    def is_tensor_like(self) -> bool:
        """Whether a value of this type is or may hold tensors."""
        return self.base == "Tensor"

    @property
    def is_list(self) -> bool:
        """Whether a value is a list (or an optional list)."""
        return any(w.startswith("[") for w in self.wrappers)

    @property
    def is_optional(self) -> bool:
        """Whether ``None`` is a value of this type."""
        return bool(self.wrappers) and self.wrappers[-1] == "?"

    @property
    def fixed_size(self) -> int | None:
        """The length written into the list, as in ``int[2]``."""
        text = next((w for w in self.wrappers if w.startswith("[")), "[]")[1:-1]
        return int(text) if text else None

    def inner(self) -> SchemaType:
        """The type without its outermost wrapper."""
        return SchemaType(self.base, self.wrappers[:-1])

    def described(self) -> str:
        """The name used in error messages: ``Optional[List[Tensor]]``."""
        shown = _SHOWN.get(self.base, self.base)
        for wrapper in self.wrappers:
            shown = f"Optional[{shown}]" if wrapper == "?" else f"List[{shown}]"
        return shown

    def __str__(self) -> str:
        return self.base + "".join(self.wrappers)


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """An annotation such as ``(a!)``: which alias set a tensor belongs to and whether it is written."""

    text: str

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to the tensor."""
        return "!" in self.text

    @property
    def before_set(self) -> set[str]:
        """Names of the alias sets on entry."""
        return set(re.findall(r"\w+", self.text.split("->")[0]))

    def __str__(self) -> str:
        return f"({self.text})"


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter or one return of an operator."""

    name: str
    type: SchemaType
    alias_info: AliasInfo | None = None
    default_value: Any = None
    default_text: str | None = None
    kwarg_only: bool = False

    def has_default_value(self) -> bool:
        """Whether the argument may be left out."""
        return self.default_text is not None

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to this argument."""
        return self.alias_info is not None and self.alias_info.is_write

    def __str__(self) -> str:
        text = str(self.type)
        if self.alias_info is not None:
            text = text.replace("Tensor", f"Tensor{self.alias_info}", 1)
        if self.name:
            text += f" {self.name}"
        return text if self.default_text is None else f"{text}={self.default_text}"


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """The declaration of one operator."""

    name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    overload_name: str = ""
    returns_one_tuple: bool = False
    """The single return is wrapped: the operator gives a tuple of one."""

    @property
    def is_mutable(self) -> bool:
        """Whether some argument is written."""
        return any(a.is_write for a in self.arguments)

    @property
    def returns_view(self) -> bool:
        """Whether some return shares memory with an argument that is not written."""
        return any(r.alias_info is not None and not r.is_write for r in self.returns)

    @property
    def is_functional(self) -> bool:
        """No argument is written, no return is a view, and something is returned."""
        return bool(self.returns) and not self.is_mutable and not self.returns_view

    @property
    def positional(self) -> tuple[Argument, ...]:
        """Arguments that may be given by position."""
        return tuple(a for a in self.arguments if not a.kwarg_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        """Arguments that must be given by keyword."""
        return tuple(a for a in self.arguments if a.kwarg_only)

    def qualified(self, qualname: str, overload: str = "") -> FunctionSchema:
        """The same schema under another name."""
        return replace(self, name=qualname, overload_name=overload)

    def signature(self) -> str:
        """The part after the name."""
        parts = [str(a) for a in self.positional]
        if self.keyword_only:
            parts += ["*", *(str(a) for a in self.keyword_only)]
        returned = ", ".join(map(str, self.returns))
        if self.returns_one_tuple:
            returned = f"(({returned}))"
        elif len(self.returns) != 1 or self.returns[0].name:
            returned = f"({returned})"
        return f"({', '.join(parts)}) -> {returned}"

    def __str__(self) -> str:
        dot = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{dot}{self.signature()}"
