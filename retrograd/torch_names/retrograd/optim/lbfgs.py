"""L-BFGS: steps from the curvature that recent gradients show (Liu and Nocedal 1989)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..engine import observe
from ..engine.switches.modes import enable_grad, no_grad
from ..engine.table.methods import FUNCTIONS
from .declared import check_lr
from .line_search import Point, Search
from .optimizer import Optimizer
from .real_parts import real_of

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
