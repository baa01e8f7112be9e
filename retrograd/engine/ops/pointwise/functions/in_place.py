"""In-place forms that are no rows' own: of comparisons, and of ``abs``."""

from __future__ import annotations

from typing import Any

from ....aliasing.inplace import call_inplace
from ....table.public import public
from ....table.registry import OPS
from ....tensors.base import TensorBase
from .arithmetic import operand_of


def _comparison_in_place(name: str) -> None:
    def call(self: Any, other: Any) -> Any:
        row = f"_{name}_inplace_" + ("tensor" if isinstance(other, TensorBase) else "number")
        return call_inplace(OPS[row], (self, operand_of(other)), {})

    call.__name__ = call.__qualname__ = name + "_"
    call.__doc__ = f"In-place {name}: 1 where it holds, 0 elsewhere."
    public(name + "_", function=False)(call)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison_in_place(_name)


@public("abs_")
def abs_(self: Any) -> Any:
    """In-place absolute value; refused for complex tensors, whose absolute values are real."""
    if self._sig.kind == "c":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return call_inplace(OPS["abs"], (self,), {})
