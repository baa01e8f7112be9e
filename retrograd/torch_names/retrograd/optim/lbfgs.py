"""L-BFGS: steps from the curvature that recent gradients show (Liu and Nocedal 1989)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..engine import observe
from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import enable_grad, no_grad
from .declared import check_lr
from .optimizer import Optimizer
from .real_parts import real_of

# How far to go along a direction: a step that satisfies the strong Wolfe conditions.
#
# A bracket around such a step is found by steps that grow, then made smaller by cubic interpolation (Nocedal and
# Wright, Numerical Optimization, algorithms 3.5 and 3.6, with the safeguards of Schmidt's
# minFunc, which PyTorch has as well).

DECREASE = 1e-4
"""The loss must fall by this share of what the slope at the start promises."""
FLATTENED = 0.9
"""The slope must come down to this share of the one at the start."""


@dataclass(frozen=True)
class Point:
    """One step length, with the loss and the gradient there."""

    t: float
    loss: float
    gradient: Any
    slope: float
    """Of the loss along the direction."""


class Search:
    """One search: ``evaluate(t)`` gives the point at step length ``t``; after ``most`` the lowest one is taken."""

    def __init__(self, evaluate: Callable[[float], Point], start: Point, smallest: float, most: int) -> None:
        self.evaluate, self.start, self.smallest, self.most = evaluate, start, smallest, most
        self.tried = 0
        """How many steps were refined; the first evaluation is not one of them."""
        self.evaluations = 0

    def found(self, t: float) -> Point:
        """A step that satisfies the conditions, or the lowest one that was seen."""
        ends = self._bracket(t)
        return ends[0] if len(ends) == 1 else self._zoom(*ends)

    def _at(self, t: float) -> Point:
        self.evaluations += 1
        return self.evaluate(t)

    def _too_high(self, point: Point) -> bool:
        return point.loss > self.start.loss + DECREASE * point.t * self.start.slope

    def _flat(self, point: Point) -> bool:
        return abs(point.slope) <= -FLATTENED * self.start.slope

    def _bracket(self, t: float) -> tuple[Point, ...]:
        """Two points with a good step between them, or that step."""
        before, point = self.start, self._at(t)
        while self.tried < self.most:
            if self._too_high(point) or (self.tried > 1 and point.loss >= before.loss):
                return before, point
            if self._flat(point):
                return (point,)
            if point.slope >= 0:
                return before, point
            bounds = (point.t + 0.01 * (point.t - before.t), point.t * 10)
            before, point = point, self._at(lowest_of_cubic(before, point, bounds))
            self.tried += 1
        return self.start, point

    def _zoom(self, one: Point, other: Point) -> Point:
        """The good step between two points: the interval shrinks around the lower one."""
        low, high = (one, other) if one.loss <= other.loss else (other, one)
        stalled = False
        while self.tried < self.most and abs(high.t - low.t) >= self.smallest:
            left, right = (low, high) if low.t <= high.t else (high, low)
            t, stalled = self._away_from_ends(lowest_of_cubic(left, right, (left.t, right.t)), left.t, right.t, stalled)
            point = self._at(t)
            self.tried += 1
            if self._too_high(point) or point.loss >= low.loss:
                high = point
                low, high = (low, high) if low.loss <= high.loss else (high, low)
                continue
            if self._flat(point):
                return point
            if point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
        return low

    @staticmethod
    def _away_from_ends(t: float, left: float, right: float, stalled: bool) -> tuple[float, bool]:
        """A step near an end is let pass once; the second time it is moved inside by a tenth of the interval."""
        margin = 0.1 * (right - left)
        if min(right - t, t - left) >= margin:
            return t, False
        if not stalled and left < t < right:
            return t, True
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False


def lowest_of_cubic(one: Point, other: Point, bounds: tuple[float, float]) -> float:
    """Where the cubic through two losses and slopes is lowest within bounds; their middle if it has no minimum."""
    a, b = (one, other) if one.t <= other.t else (other, one)
    if a.t == b.t:
        return sum(bounds) / 2
    shape = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = shape**2 - a.slope * b.slope
    if square < 0:
        return sum(bounds) / 2
    root = math.sqrt(square)
    lowest = b.t - (b.t - a.t) * ((b.slope + root - shape) / (b.slope - a.slope + 2 * root))
    return min(max(lowest, bounds[0]), bounds[1])


_cat = FUNCTIONS["cat"]


class LBFGS(Optimizer):
    """L-BFGS with a fixed step length, or one that ``line_search_fn="strong_wolfe"`` finds along each direction.

    ``step`` calls its closure up to ``max_eval`` times (with a line search, until that is exceeded).
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        check_lr(lr)
        if not 0.0 <= lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        settings = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, settings)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Minimize; ``closure`` clears the gradients, computes the loss, runs backward and returns the loss."""
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        with observe.optimizer_call("step", self), no_grad():
            loss = _evaluated(closure)
            state = self.state[self._parameters()[0]]
            state.setdefault("func_evals", 0)
            state.setdefault("n_iter", 0)
            state["func_evals"] += 1
            g = self._gradient()
            if g.abs().max() > self.param_groups[0]["tolerance_grad"]:
                self._iterate(state, g, loss, closure)
        return loss

    def _iterate(self, state: dict[str, Any], g: Any, first: Any, closure: Callable[[], Any]) -> None:
        """Up to ``max_iter`` steps along quasi-Newton directions, as long as line search or ``lr`` says."""
        group, loss, evaluations = self.param_groups[0], _number(first), 1
        for done in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, g)
            state["prev_flat_grad"], state["prev_loss"] = g.clone(), loss
            first_length = min(1.0, 1.0 / float(g.abs().sum())) if state["n_iter"] == 1 else 1
            here, length = Point(0.0, loss, g, float(g.dot(direction))), first_length * group["lr"]
            state["d"], state["t"] = direction, length
            if here.slope > -group["tolerance_change"]:
                return
            most = group["max_eval"] - evaluations
            there, used = self._advanced(here, direction, length, closure, most, is_last=done == group["max_iter"])
            state["t"], loss, g = there.t, there.loss, there.gradient
            evaluations += used
            state["func_evals"] += used
            if evaluations >= group["max_eval"] or g.abs().max() <= group["tolerance_grad"]:
                return
            moved = float(direction.mul(there.t).abs().max())
            if moved <= group["tolerance_change"] or abs(loss - here.loss) < group["tolerance_change"]:
                return

    def _advanced(
        self, here: Point, direction: Any, length: float, closure: Callable[[], Any], most: int, *, is_last: bool
    ) -> tuple[Point, int]:
        """Move as far as the line search says, or by ``length``; where that leads, and how many evaluations it took.

        Without a line search nobody asks any more what the loss is after the last step.
        """
        if self.param_groups[0]["line_search_fn"] is not None:
            there, used = self._searched(here, direction, length, closure, most)
            self._move(direction, there.t)
            return there, used
        self._move(direction, length)
        if is_last:
            return replace(here, t=length), 0
        return Point(length, _number(_evaluated(closure)), self._gradient(), 0.0), 1

    def _searched(
        self, start: Point, direction: Any, length: float, closure: Callable[[], Any], most: int
    ) -> tuple[Point, int]:
        """The step that the line search takes, and how often the loss was computed for it."""
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        before = [p.clone() for p in self._parameters()]

        def evaluate(t: float) -> Point:
            self._move(direction, t)
            loss, g = _number(_evaluated(closure)), self._gradient()
            for p, value in zip(self._parameters(), before, strict=True):
                p.copy_(value)
            return Point(t, loss, g, float(g.dot(direction)))

        smallest = self.param_groups[0]["tolerance_change"] / max(float(direction.abs().max()), 1e-300)
        search = Search(evaluate, start, smallest, most)
        return search.found(length), search.evaluations

    def _direction(self, state: dict[str, Any], g: Any) -> Any:
        """Minus the gradient, times the inverse Hessian as far as the history knows it: two loops over it."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return g.neg()
        change, moved = g.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
        curvature, most = change.dot(moved), self.param_groups[0]["history_size"]
        if curvature > 1e-10:
            for name, value in (("old_dirs", change), ("old_stps", moved), ("ro", 1.0 / curvature)):
                state[name] = [*state[name], value][-most:]
            state["H_diag"] = curvature / change.dot(change)
        known = list(enumerate(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True)))
        q, weights = g.neg(), state.setdefault("al", [None] * most)
        for i, (change, moved, ratio) in reversed(known):
            weights[i] = moved.dot(q) * ratio
            q.add_(change, alpha=-float(weights[i]))
        r = q.mul(state["H_diag"])
        for i, (change, moved, ratio) in known:
            r.add_(moved, alpha=float(weights[i] - change.dot(r) * ratio))
        return r

    def _gradient(self) -> Any:
        """All gradients one behind the other, complex ones as their parts."""
        grads = [p.new_zeros(p.shape) if p.grad is None else p.grad.to_dense() for p in self._parameters()]
        return _cat([real_of(g).reshape(-1) for g in grads], 0)

    def _move(self, direction: Any, length: float) -> None:
        start = 0
        for p in map(real_of, self._parameters()):
            p.add_(direction[start : start + p.numel()].view_as(p), alpha=length)
            start += p.numel()


def _evaluated(closure: Callable[[], Any]) -> Any:
    with observe.closure_call(), enable_grad():
        return closure()


def _number(loss: Any) -> float:
    return float(loss.detach() if hasattr(loss, "detach") else loss)
