"""Plans for rows that return several views: what their calls have in common, found once for each shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..aliasing.views import HOLE
from ..tensors.sig import sig_of

_MOST_PIECES = 256
_MOST_PLANS = 64
"""Plans that a row remembers, and the pieces of one."""


class Plan:
    """What calls of a row have in common where shape and dtype of the operand, and the parameters, are the same."""

    __slots__ = ("after", "args", "differentiable", "indices", "node_sigs", "numbers", "sigs")

    def __init__(self, op: Any, x: Any, others: tuple[Any, ...]) -> None:
        array = x._array
        indices = op.pieces(array.shape, *others)
        alike = indices.__class__ is range and len(indices) > 0  # rows, of which there may be many
        sigs = [sig_of(array[0])] * len(indices) if alike else [sig_of(array[index]) for index in indices]
        self.args = (HOLE, *others)
        """As ``View.args``."""
        self.sigs = tuple(sigs)
        self.node_sigs = tuple([sig.plain for sig in sigs]) if len(sigs) != 1 else sigs[0].alone
        self.differentiable = bool(sigs) and x._sig.differentiable
        self.indices, self.numbers = indices, range(len(sigs))
        self.after = [0.5 / (nr + 1) for nr in self.numbers]
        """How much newer than the node the port of each view is."""


def planning(op: Any, plans: dict[Any, Plan]) -> Callable[..., Plan]:
    """What makes a row's plans, and remembers those that are not long."""

    def planned(x: Any, *others: Any) -> Plan:
        plan = Plan(op, x, others)
        if len(plan.numbers) <= _MOST_PIECES:
            if len(plans) >= _MOST_PLANS:
                plans.clear()
            plans[x._sig, *others] = plan
        return plan

    return planned
