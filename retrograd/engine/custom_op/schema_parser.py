"""Reads the texts that declare operators: schemas, and names with their namespace."""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from .schema import AliasInfo, Argument, FunctionSchema, SchemaType

BASE_TYPES: Final = (
    "Tensor", "int", "SymInt", "float", "bool", "str", "Scalar", "ScalarType", "Device", "Layout", "MemoryFormat",
    "Generator", "DeviceIndex", "SymBool",
)  # fmt: skip
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>"[^"]*"|'[^']*')|(?P<arrow>->)
    |(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<ident>-?[A-Za-z_]\w*(?:::\w+)*(?:\.\w+)*)|(?P<mark>\S))""",
    re.VERBOSE,
)
_CONSTANTS: Final = {"None": None, "True": True, "False": False, "inf": float("inf"), "-inf": float("-inf")}
_CONSTANTS["nan"] = float("nan")


class _Parser:
    """Recursive-descent parser over the tokens of one schema string."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            (m.lastgroup, m.group(m.lastgroup or 0), m.start(m.lastgroup or 0)) for m in _TOKEN.finditer(text)
        ]
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def kind(self) -> str:
        return (self.tokens[self.at][0] or "eof") if self.at < len(self.tokens) else "eof"

    def fail(self, expected: str) -> NoReturn:
        word = self.peek()
        place = self.tokens[self.at][2] if word else len(self.text)
        raise RuntimeError(
            f"expected {expected} but found '{word or 'eof'}' here:\n{self.text}\n"
            f"{' ' * place}{'~' * max(1, len(word))} <--- HERE\n"
        )

    def accept(self, word: str) -> bool:
        if self.peek() == word and self.kind() != "string":
            self.at += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.accept(word):
            self.fail(word)

    def take(self, kind: str) -> str:
        if self.kind() != kind:
            self.fail(kind)
        self.at += 1
        return self.tokens[self.at - 1][1]

    def schema(self) -> FunctionSchema:
        name, _, overload = self.take("ident").partition(".")
        self.expect("(")
        arguments = self.arguments()
        self.expect("->")
        returns, one_tuple = self.returns()
        if self.peek():
            self.fail("eof")
        return FunctionSchema(name, arguments, returns, overload, one_tuple)

    def arguments(self) -> tuple[Argument, ...]:
        found: list[Argument] = []
        keyword_only = False
        while not self.accept(")"):
            if found or keyword_only:
                self.expect(",")
            if self.accept("*"):
                keyword_only = True
                continue
            found.append(self.argument(keyword_only))
        return tuple(found)

    def argument(self, keyword_only: bool) -> Argument:
        kind, alias = self.type()
        name = self.take("ident")
        value, text = None, None
        if self.accept("="):
            value, text = self.default(kind)
        return Argument(name, kind, alias, value, text, keyword_only)

    def type(self) -> tuple[SchemaType, AliasInfo | None]:
        """A type with its alias mark: ``Tensor(a!)?[]``."""
        if self.kind() == "ident" and self.peek() not in BASE_TYPES:
            self._unknown_type()
        base = self.take("ident")
        alias, wrappers = self.alias(), []
        while self.peek() in ("?", "["):
            if self.accept("?"):
                wrappers.append("?")
            else:
                self.expect("[")
                wrappers.append("[]" if self.peek() == "]" else f"[{self.take('number')}]")
                self.expect("]")
                alias = alias or self.alias()
        return SchemaType(base, tuple(wrappers)), alias

    def _unknown_type(self) -> NoReturn:
        raise RuntimeError(
            f"unknown type specifier '{self.peek()}' in {self.text}. Common valid schema types include Tensor, SymInt, "
            "int, float, bool, Scalar"
        )

    def alias(self) -> AliasInfo | None:
        if not self.accept("("):
            return None
        start = self.tokens[self.at - 1][2] + 1
        while self.peek() not in (")", ""):
            self.at += 1
        if not self.peek():
            self.fail(")")
        text = self.text[start : self.tokens[self.at][2]].strip()
        self.expect(")")
        return AliasInfo(text)

    def default(self, kind: SchemaType) -> tuple[Any, str]:
        start = self.tokens[self.at][2] if self.peek() else len(self.text)
        value = self.constant()
        last = self.tokens[self.at - 1]
        if kind.base == "float" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        return value, self.text[start : last[2] + len(last[1])]

    def constant(self) -> Any:
        """A default value: a number, string, word or list of them."""
        if self.accept("["):
            items: list[Any] = []
            while not self.accept("]"):
                if items:
                    self.expect(",")
                items.append(self.constant())
            return items
        if self.kind() == "string":
            return self.take("string")[1:-1]
        if self.kind() == "number":
            return _number(self.take("number"))
        word = self.take("ident")
        return _CONSTANTS.get(word, word)

    def returns(self) -> tuple[tuple[Argument, ...], bool]:
        """The part after the arrow (``Tensor``, ``(Tensor, int)``), and whether it is a tuple of one."""
        if not self.accept("("):
            return (self.returned(),), False
        if self.accept("("):
            inner = self.returned()
            self.expect(")")
            self.expect(")")
            return (inner,), True
        found: list[Argument] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            found.append(self.returned())
        return tuple(found), False

    def returned(self) -> Argument:
        kind, alias = self.type()
        name = self.take("ident") if self.kind() == "ident" else ""
        return Argument(name, kind, alias)


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def parse_schema(text: str) -> FunctionSchema:
    """Parse ``name(arguments) -> returns``; ``RuntimeError`` points at the first thing that does not fit."""
    return _Parser(text).schema()


def parse_qualname(qualname: str) -> tuple[str, str]:
    """Split ``namespace::name``; ``ValueError`` without exactly one ``::``."""
    parts = qualname.split("::") if isinstance(qualname, str) else []
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "library functions must consist of a namespace and a name, for example mylib::sin"
        )
    return parts[0], parts[1]
