"""In which order saved tensors are packed, G-24: operands by their names, then results, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from both_engines import differential

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "addmm": lambda t, r: t.addmm(r(3), r(4, 2), r(2, 3)),
    "linear": lambda t, r: t.nn.functional.linear(r(4, 2), r(3, 2), r(3)),
    "mm": lambda t, r: r(4, 2) @ r(2, 3),
    "baddbmm": lambda t, r: t.baddbmm(r(3), r(1, 4, 2), r(1, 2, 3)),
    "addmv": lambda t, r: t.addmv(r(4), r(4, 2), r(2)),
    "addr": lambda t, r: t.addr(r(2, 3), r(2), r(3)),
    "gather": lambda t, r: r(3).gather(0, t.tensor([0])),
    "mul": lambda t, r: r(2, 1) * r(3),
    "addcdiv": lambda t, r: t.addcdiv(r(3), r(3), r(1)),
    "atan2": lambda t, r: t.atan2(r(3), r(1)),
    "lerp": lambda t, r: t.lerp(r(3), r(1), r(2, 3)),
    "pow": lambda t, r: r(3) ** r(1),
    "layer_norm": lambda t, r: t.nn.functional.layer_norm(r(2, 3), (3,), r(3), r(3)),
    "cdist": lambda t, r: t.cdist(r(2, 3), r(4, 3)),
    "svd": lambda t, r: t.linalg.svd(r(4, 3), full_matrices=False)[1],
}


@differential
def test_operands_are_packed_by_name(torch: Any) -> Any:
    """G-24: shapes that a pack hook sees, one after the other."""
    packed: dict[str, list[Any]] = {}

    def leaf(*shape: int) -> Any:
        return torch.ones(*shape, requires_grad=True)

    for name, call in CALLS.items():
        seen = packed[name] = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda x, seen=seen: (seen.append([list(x.shape), str(x.dtype).rpartition(".")[2]]), x)[1], lambda x: x
        ):
            call(torch, leaf)
    return packed
