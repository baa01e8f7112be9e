"""Random custom Functions: arguments, outputs, marks, saved values and later writes are drawn, everything is logged."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

PHRASES = (
    "leaf Variable that requires grad", "were not returned", "cannot return more than one Tensor", "second time",
    "modified by an inplace operation", "view was created inside a custom Function", "returns multiple views",
    "is a view and", "does not require grad", "invalid gradient", "incorrect number", "as-is as output",
    "created in no_grad", "detached in-place", "no grad accumulator", "only be saved", "jvp", "forward mode gradients",
    "not returning a view", "is not a differentiable",
)  # fmt: skip


def arguments(torch: Any) -> dict[str, Any]:
    """One tensor of every kind that a caller may pass."""
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = leaf * 1
    plain = torch.tensor([4.0, 5.0, 6.0])
    with torch.no_grad():
        hidden = (leaf * 2)[1:]
        late = base.view(3)
    return {
        "leaf": leaf, "interior": leaf * 3, "base": base, "view": base[1:], "leaf_view": leaf[:2], "plain": plain,
        "plain_view": plain[1:], "hidden": hidden, "late": late, "part": (leaf * 2).split(2)[0],
        "other": torch.tensor([7.0, 8.0], requires_grad=True), "integer": torch.tensor([1, 2]), "number": 3,
    }  # fmt: skip


OUTPUTS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "fresh": lambda torch, xs: xs[0] * 2,
    "sum": lambda torch, xs: xs[0].sum(),
    "same": lambda torch, xs: xs[0],
    "last": lambda torch, xs: xs[-1],
    "view": lambda torch, xs: xs[0][:1],
    "reshaped": lambda torch, xs: xs[-1].view(-1, 1),
    "temporary": lambda torch, xs: (xs[0] * 2)[1:],
    "written": lambda torch, xs: xs[0].mul_(2),
    "added": lambda torch, xs: xs[-1].add_(1),
    "long": lambda torch, xs: xs[0].long(),
    "double": lambda torch, xs: xs[0].double(),
    "none": lambda torch, xs: None,
    "detached": lambda torch, xs: xs[0].detach(),
}
SAVED = ("input", "last", "output", "middle", "none")


class Plan:
    """What one random Function does, drawn from a seed; the same for every engine."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        names = list(arguments_names())
        tensors = [n for n in names if n != "number"]
        self.arguments = [draw.choice(tensors), *draw.choices(names, k=draw.choice((0, 0, 1, 2)))]
        self.outputs = draw.choices(list(OUTPUTS), k=draw.choice((1, 1, 1, 2, 3)))
        self.bare = len(self.outputs) == 1 and draw.random() < 0.7
        self.dirty = draw.choice(("", "", "", "first", "last", "all"))
        self.constant = draw.choice((None, None, None, 0, 1)) if not self.dirty else None
        self.saved = draw.sample(SAVED, k=draw.choice((0, 1, 2, 3)))
        self.setup = draw.random() < 0.3
        self.materialize = draw.random() < 0.7
        self.no_grad = draw.random() < 0.15
        self.once = draw.random() < 0.15
        self.writes = draw.choices(("output", "output view", "argument", "quiet", "data", "nothing", "nothing"), k=2)
        self.twice = draw.random() < 0.3
        self.create_graph = draw.random() < 0.3
        # With a dirty view PyTorch also loses the gradient of the rest of the base when backward returns None.
        self.spoil = draw.choice((None,) * 6 + ("shape", "count", "dtype", None if self.dirty else "none"))


def arguments_names() -> tuple[str, ...]:
    """The kinds of arguments, without an engine."""
    return ("leaf", "interior", "base", "view", "leaf_view", "plain", "plain_view", "hidden", "late", "part", "other",
            "integer", "number")  # fmt: skip


def build(torch: Any, plan: Plan, log: list[Any]) -> Any:
    """The Function of a plan."""

    def compute(xs: tuple[Any, ...]) -> tuple[Any, Any]:
        tensors = [x for x in xs if hasattr(x, "detach")]
        middle = tensors[0] + 1
        made = tuple([OUTPUTS[name](torch, tensors) for name in plan.outputs])
        return (made[0] if plan.bare else made), middle

    def tell(ctx: Any, xs: tuple[Any, ...], result: Any, middle: Any) -> None:
        tensors = [x for x in xs if hasattr(x, "detach")]
        made = result if isinstance(result, tuple) else (result,)
        chosen = {"first": tensors[:1], "last": tensors[-1:], "all": tensors}.get(plan.dirty)
        if chosen:
            ctx.mark_dirty(*chosen)
        if plan.constant is not None and plan.constant < len(made) and made[plan.constant] is not None:
            ctx.mark_non_differentiable(made[plan.constant])
        values = {"input": tensors[0], "last": tensors[-1], "output": made[0], "middle": middle, "none": None}
        ctx.save_for_backward(*[values[name] for name in plan.saved])
        ctx.set_materialize_grads(plan.materialize)
        ctx.shapes = [(tuple(x.shape), x.dtype) if hasattr(x, "detach") else None for x in xs]

    def forward(ctx: Any, *xs: Any) -> Any:
        result, middle = compute(xs)
        tell(ctx, xs, result, middle)
        return result

    def backward(ctx: Any, *grads: Any) -> Any:
        log.append(["backward", [describe_gradient(g) for g in grads], torch.is_grad_enabled(), ctx.needs_input_grad])
        log.append([None if s is None else [place(s), values_of(s)] for s in ctx.saved_tensors])
        scale = sum(g.double().sum() for g in grads if g is not None) + 1
        found = []
        for i, like in enumerate(ctx.shapes):
            if like is None or not like[1].is_floating_point:
                found.append(None)
            else:
                found.append((torch.ones(like[0], dtype=torch.float64) * scale * (i + 1)).to(like[1]))
        return spoiled(torch, plan, found)

    members = {
        "backward": staticmethod(torch.autograd.function.once_differentiable(backward) if plan.once else backward)
    }
    if plan.setup:
        members["forward"] = staticmethod(lambda *xs: compute(xs)[0])
        members["setup_context"] = staticmethod(
            lambda ctx, xs, result: tell(ctx, xs, result, xs[0] * 1 if xs else None)
        )
    else:
        members["forward"] = staticmethod(forward)
    return type("Drawn", (torch.autograd.Function,), members)


def spoiled(torch: Any, plan: Plan, found: list[Any]) -> Any:
    """The gradients, made wrong in the way the plan asks for."""
    if plan.spoil == "count":
        return (*found, torch.ones(1))
    if plan.spoil == "none":
        return (None,) * len(found)
    if found[0] is not None and plan.spoil == "shape":
        found[0] = torch.ones(5) if len(found) % 2 else found[0].expand(2, *found[0].shape)
    if found[0] is not None and plan.spoil == "dtype":
        found[0] = found[0].double()
    return tuple(found)


def describe_gradient(g: Any) -> Any:
    """A gradient in plain values."""
    return None if g is None else [str(g.dtype), values_of(g), g.requires_grad]


def values_of(t: Any) -> Any:
    """Rounded values of a tensor."""
    return [round(float(v), 3) for v in t.detach().double().reshape(-1)]


def place(t: Any) -> list[Any]:
    """What can be seen of a tensor's place in the graph."""
    seen: list[Any] = [tuple(t.shape), str(t.dtype), t._version, t._is_view()]
    try:
        seen += [t.requires_grad, t.is_leaf, t.output_nr]
        seen.append(
            ""
            if t.grad_fn is None
            else [t.grad_fn.name(), [n.name() if n else "" for n, _ in t.grad_fn.next_functions]]
        )
    except RuntimeError as error:
        seen.append(phrase_of(error))
    return seen


def phrase_of(error: BaseException) -> str:
    """Type and key phrase of an error."""
    return type(error).__name__ + ": " + next((p for p in PHRASES if p in str(error)), "")


def guarded(log: list[Any], what: str, call: Callable[[], Any]) -> Any:
    """Run a step; an error is part of the outcome."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call()
        quiet = ("create_graph=True", "requires_grad_")  # the first is PyTorch's alone, the second retrograd's
        told = {w.category.__name__ for w in caught if not any(q in str(w.message) for q in quiet)}
        log.append([what, "ok", sorted(told)])
        return result
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        log.append([what, phrase_of(error)])
        return None


def write(torch: Any, kind: str, outputs: list[Any], args: list[Any]) -> None:
    """One later write, to an output or an argument."""
    target = args[0] if kind == "argument" else outputs[0]
    if kind == "output view":
        target[:1].mul_(3)
    elif kind == "quiet":
        with torch.no_grad():
            target.mul_(3)
    elif kind == "data":
        target.data.mul_(3)
    elif kind != "nothing":
        target.mul_(3)


def run(torch: Any, seed: int) -> list[Any]:
    """Everything observable of one random Function and what is done with its outputs."""
    plan, log = Plan(seed), []
    known = arguments(torch)
    args = [known[name] for name in plan.arguments]
    F = build(torch, plan, log)
    with torch.set_grad_enabled(not plan.no_grad):
        result = guarded(log, "apply", lambda: F.apply(*args))
    if log[-1][1] != "ok":
        log.append([place(a) for a in args if hasattr(a, "detach")])
        return log
    outputs = list(result) if isinstance(result, tuple) else [result]
    tensors = [o for o in outputs if hasattr(o, "detach")]
    log.append([next((i for i, a in enumerate(args) if a is o), None) for o in outputs])
    for kind in plan.writes if tensors else ():
        guarded(log, kind, lambda kind=kind: write(torch, kind, tensors, args))
    for t in [*tensors, *[a for a in args if hasattr(a, "detach")], known["base"]]:
        log.append([place(t), values_of(t)])

    def differentiate() -> None:
        total = sum(o.double().sum() * (i + 1) for i, o in enumerate(tensors))
        total = total + known["base"].double().sum()
        total.backward(retain_graph=plan.twice, create_graph=plan.create_graph)

    guarded(log, "backward", differentiate)
    if plan.twice:
        guarded(log, "again", differentiate)
    for name in ("leaf", "other"):
        g = known[name].grad
        log.append(None if g is None else [values_of(g), g.requires_grad])
    return log
