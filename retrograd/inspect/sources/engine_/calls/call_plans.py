"""Predicts the next call of an operator: a training step makes the calls of the previous step, on the same lines.

Finding the caller, its position, operands' texts and frames takes a dozen dictionaries, each of which a matrix product
between two calls has driven out of the processor's caches.  A ``Plan`` has the answers for one path to one call, and
the two plans that came next; the frames alone, which the call has just touched, show whether a plan fits.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

from .....engine.function import function
from ....program.frames import APPLY_DEPTH, applying_frame
from ....program.stacks import Path, path_to
from ...origins import Marks
from .call_sites import Site

_defines_apply = (function.__file__ or "").__eq__
"""Whether a file is the one that defines our engine's ``Function.apply``."""


def applying(frame: FrameType | None) -> FrameType | None:
    """Return the user's frame that called ``Function.apply``, if the given one runs inside its ``forward``."""
    return applying_frame(frame, _defines_apply)


class Plan:
    """A call of an operator at one instruction of the user, through a given sequence of our functions."""

    __slots__ = (
        "begins_write", "code", "instruction", "next", "noted", "op", "other", "outside", "site", "stack", "steps",
        "whole", "within",
    )  # fmt: skip

    def __init__(self, op: Any, within: list[CodeType], user: FrameType, site: Site, path: Path | None) -> None:
        """``within`` are the functions between the engine and the user, innermost first."""
        self.op = op
        self.within = within
        self.code, self.instruction = user.f_code, user.f_lasti
        self.site = site
        self.begins_write = op.view and site.function == "setitem"
        """Whether it makes the view that ``t[i] = v`` is going to write to."""
        self.steps, self.whole = ([], False) if path is None else (path.steps[1:], path.whole)
        """The frames around the user's, if the stack is recorded."""
        self.stack = None if path is None else path.stack
        self.outside = False
        """Whether the frames show that the call is outside every custom Function's ``forward``."""
        self.next: Plan | None = None
        """The plan that came next the last time; ``other`` came next once: at the end of a loop, say."""
        self.other: Plan | None = None
        self.noted: tuple[Marks | None, str, int] = (None, "", 0)
        """The marks, scope and entry of this position; set together, since several threads may use the plan."""

    def foresee_other(self, frame: FrameType, op: Any) -> tuple[Plan, FrameType] | tuple[None, None]:
        """Return the plan of a call that is not ``next``, and the user's frame; None if it was not predicted."""
        plan = self.other
        if plan is not None and plan.op is op and (user := plan.user(frame)) is not None:
            return plan, user
        return None, None

    def user(self, start: FrameType) -> FrameType | None:
        """Return the user's frame if the engine's frame that calls the operator was reached by this path; else None."""
        frame: Any = start
        try:
            for code in self.within:
                if frame.f_code is not code:
                    return None
                frame = frame.f_back
            if frame.f_lasti != self.instruction or frame.f_code is not self.code:
                return None
            around = frame
            for code, instruction in self.steps:
                around = around.f_back
                if around.f_lasti != instruction or around.f_code is not code:
                    return None
            return frame if not self.whole or around.f_back is None else None
        except AttributeError:  # the stack has fewer frames: asking each whether there is another takes a fifth of this
            return None

    def comes_before(self, plan: Plan) -> None:
        """Predict another plan after this one."""
        self.next, self.other = plan, self.next

    def forget(self) -> None:
        """Drop the following plans: a chain of unused plans would grow without bound."""
        self.next = self.other = None


_WAYS = 8
"""Plans kept for one position, which a recursive program may reach by ever new paths."""


def plan_of(site: Site, op: Any, frame: FrameType, user: FrameType) -> Plan:
    """Return the plan of a call that was not predicted."""
    for known in site.plans:
        if known.user(frame) is not None:
            return known  # type: ignore[no-any-return]
    within, around = [], frame
    while around is not user:
        within.append(around.f_code)
        assert around.f_back is not None
        around = around.f_back
    plan = Plan(op, within, user, site, path_to(user) if site.nested else None)
    is_complete = plan.whole or len(within) + 1 + len(plan.steps) >= APPLY_DEPTH
    plan.outside = is_complete and applying(frame) is None
    site.plans.append(plan)
    if len(site.plans) > _WAYS:
        site.plans.pop(0).forget()
    return plan
