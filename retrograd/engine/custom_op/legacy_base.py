"""The facts about an operator that the gradient of an old-style ``CustomOp`` needs."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from .registry import Kernel, OpOverload
from .schema import FunctionSchema


class FuncAndLocation(NamedTuple):
    """A registered function and the ``file:line`` that registered it."""

    func: Kernel
    location: str


class Declared(Protocol):
    """The facts about an old-style operator that its gradient uses: its schema, and what was registered for it."""

    _op: OpOverload
    _schema: FunctionSchema

    def _has_impl(self, kind: str) -> bool: ...
    def _get_impl(self, kind: str) -> FuncAndLocation: ...
