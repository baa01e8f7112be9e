"""Foresees the next call of an operator: a training step makes the calls of the step before, from the same places.

Who called, where, with which words and by which frames takes a dozen dictionaries to find out, each of which a matrix
product between two calls has driven out of the processor's caches.  A ``Plan`` has the answers for one way to
one call, and which two plans came next; the frames alone, which the call has just touched, tell whether one is right.
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
"""Whether a file is the one in which our engine defines ``Function.apply``."""


def applying(frame: FrameType | None) -> FrameType | None:
    """The user's frame that called ``Function.apply``, if the given one runs inside one's ``forward``."""
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
        """The frames around the user's, where the stack is worth knowing."""
        self.stack = None if path is None else path.stack
        self.outside = False
        """Whether the frames show that the call is outside every custom Function's ``forward``."""
        self.next: Plan | None = None
        """What came after it the latest time, and ``other`` another one that once did: a loop ends somewhere."""
        self.other: Plan | None = None
        self.noted: tuple[Marks | None, str, int] = (None, "", 0)
        """Where lines of nodes are noted, in which scope, and which entry there stands for this place; set as one,
        since several threads may come to it."""

    def foresee_other(self, frame: FrameType, op: Any) -> tuple[Plan, FrameType] | tuple[None, None]:
        """The plan of a call that is not ``next``, and the user's frame; None if it was not expected either."""
        plan = self.other
        if plan is not None and plan.op is op and (user := plan.user(frame)) is not None:
            return plan, user
        return None, None

    def user(self, start: FrameType) -> FrameType | None:
        """The user's frame if the engine's frame, which calls the operator, was reached this way; else None."""
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
        """Expect another plan after this one than before."""
        self.next, self.other = plan, self.next

    def forget(self) -> None:
        """Lead to no other plan any more: a chain of plans that nobody uses would grow without end."""
        self.next = self.other = None


_WAYS = 8
"""Plans that are kept of one place, which a program may reach by ever new ways: a recursion, say."""


def plan_of(site: Site, op: Any, frame: FrameType, user: FrameType) -> Plan:
    """The plan of a call from a place that was not foreseen."""
    for known in site.plans:
        if known.user(frame) is not None:
            return known  # type: ignore[no-any-return]
    within, around = [], frame
    while around is not user:
        within.append(around.f_code)
        assert around.f_back is not None
        around = around.f_back
    plan = Plan(op, within, user, site, path_to(user) if site.nested else None)
    told = plan.whole or len(within) + 1 + len(plan.steps) >= APPLY_DEPTH
    plan.outside = told and applying(frame) is None
    site.plans.append(plan)
    if len(site.plans) > _WAYS:
        site.plans.pop(0).forget()
    return plan
