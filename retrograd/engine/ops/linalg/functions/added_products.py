"""Products that are added to a tensor, with factors for both: ``addmv``, ``addr``, ``baddbmm`` and their like."""

from __future__ import annotations

from typing import Any

from ....aliasing.inplace import call_inplace
from ....calls.wrappers import renamed
from ....table.public import check_tensor, public
from ....table.registry import OPS


def _added(name: str, doc: str) -> None:
    """Publish ``name`` and ``name_``: a product added to the first argument, with factors ``beta`` and ``alpha``."""
    names = OPS[name].params

    def call(input: Any, *factors: Any, beta: Any = 1, alpha: Any = 1, **named: Any) -> Any:  # noqa: A002
        check_tensor(name, input)
        return OPS[name](input, *factors, beta=beta, alpha=alpha, **renamed(named, names))

    def call_in_place(self: Any, *factors: Any, beta: Any = 1, alpha: Any = 1, **named: Any) -> Any:
        return call_inplace(OPS[name], (self, *factors), renamed({"beta": beta, "alpha": alpha, **named}, names))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    public(name, out=True)(call)
    public(name + "_", function=name == "addmv")(call_in_place)


for _name, _doc in {
    "addmv": "``beta * input + alpha * (mat @ vec)``.",
    "addbmm": "``beta * input + alpha * (batch1 @ batch2).sum(0)``.",
    "baddbmm": "``beta * input + alpha * (batch1 @ batch2)``.",
    "addr": "``beta * input + alpha * outer(vec1, vec2)``.",
}.items():
    _added(_name, _doc)


@public("addmm_", function=False)
def addmm_(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """In-place addmm."""
    scales = renamed({"beta": beta, "alpha": alpha}, OPS["addmm"].params)
    return call_inplace(OPS["addmm"], (self, mat1, mat2), scales)
