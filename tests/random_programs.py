"""Random autograd programs: one list of instructions, run on either engine, with everything observable written down.

An instruction is ``(name, a, b, c)`` with small integers that choose operands among the tensors made so far, so that
any list of instructions is a program and hypothesis can shrink it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Instruction = tuple[str, int, int, int]

PHRASES = (
    "modified by an inplace operation", "second time", "a view of a leaf Variable", "leaf Variable that requires grad",
    "does not require grad", "is a view and", "created in no_grad mode", "can't retain_grad", "detach views in-place",
    "cannot register a hook", "change requires_grad flags", "not have been used", "single memory location",
    "INTERNAL ASSERT", "moved into the graph interior", "detached in-place", "implicitly created only for scalar",
        "is a view of a view",
)  # fmt: skip
"""Key phrases that tell one error from another."""


class Machine:
    """Runs instructions on one engine."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.tensors: list[Any] = []
        self.log: list[Any] = []
        self.functions = custom_functions(torch)
        for k, needs in enumerate((True, True, False)):
            values = np.linspace(0.5 + k, 2.0 + k, 6).reshape(2, 3)
            self.tensors.append(torch.tensor(values.tolist(), dtype=torch.float64, requires_grad=needs))

    def pick(self, i: int) -> Any:
        return self.tensors[i % len(self.tensors)]

    def partner(self, t: Any, i: int) -> Any:
        """A tensor that can be broadcast to the shape of ``t``."""
        for k in range(len(self.tensors)):
            other = self.pick(i + k)
            if _broadcasts(tuple(other.shape), tuple(t.shape)) and not _overlaps_otherwise(other, t):
                return other
        return t

    def run(self, program: list[Instruction]) -> list[Any]:
        """Execute every instruction; an error is part of the outcome and does not end the program."""
        for instruction in program:
            name, a, b, c = instruction
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made = INSTRUCTIONS[name](self, a, b, c)
            except (RuntimeError, IndexError, TypeError, ValueError) as error:
                self.log.append((name, type(error).__name__, phrase_of(error)))
                continue
            for t in made or ():
                if len(self.tensors) < 24:
                    self.tensors.append(t)
            self.log.append((name, "ok"))
            self.log.append([self.describe(t) for t in self.tensors])
        return self.log

    def describe(self, t: Any) -> list[Any]:
        """All that can be seen of a tensor; what refuses to be read gives its error."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen = [tuple(t.shape), bool(t.requires_grad), t._version, bool(t.requires_grad) and t._is_view()]
            return [*seen, *(_read(reader, t) for reader in (_place, _values, _gradient))]


def _read(reader: Callable[[Any], Any], t: Any) -> Any:
    try:
        return reader(t)
    except RuntimeError as error:
        return phrase_of(error)


def _place(t: Any) -> list[Any]:
    node = t.grad_fn
    if node is None:
        return ["-", t.is_leaf, t.output_nr]
    nexts = ["-" if n is None else (n.name(), k) for n, k in node.next_functions]
    return [node.name(), nexts, t.is_leaf, t.output_nr, bool(t.retains_grad)]


def _values(t: Any) -> Any:
    return t.detach().numpy().round(9).tolist()


def _gradient(t: Any) -> Any:
    return None if t.grad is None else _values(t.grad)


def phrase_of(error: BaseException) -> str:
    """Which known error this is."""
    return next((p for p in PHRASES if p in str(error)), "other")


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    if len(shape) > len(target):
        return False
    return all(s in (1, t) for s, t in zip(reversed(shape), reversed(target), strict=False))


def _overlaps_otherwise(a: Any, b: Any) -> bool:
    """Whether two tensors share memory in different arrangements: writing one while reading the other is undefined."""
    same = a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.stride() == b.stride()
    return not same and bool(np.shares_memory(a.detach().numpy(), b.detach().numpy()))


def custom_functions(torch: Any) -> dict[str, Any]:
    """Functions of every kind that matters: saving, returning an input, returning a view, writing in place."""

    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 + 0 * x

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    class Dirty(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x.exp()
            ctx.save_for_backward(out)
            return out, x + 1

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            (out,) = ctx.saved_tensors
            return g * out + h

    return {"Triple": Triple, "Same": Same, "Dirty": Dirty, "Both": Both}


# -- instructions: machine and three integers in, new tensors out


def unary(f: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda m, a, b, c: [f(m.pick(a))]


def binary(f: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda m, a, b, c: [f(m.pick(a), m.partner(m.pick(a), b))]


def effect(f: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(m: Machine, a: int, b: int, c: int) -> None:
        f(m.pick(a))

    return run


def binary_effect(f: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def run(m: Machine, a: int, b: int, c: int) -> None:
        t = m.pick(a)
        f(t, m.partner(t, b))

    return run


def _first(t: Any, i: int) -> Any:
    return t[i % t.shape[0]] if t.ndim else t[None][0]


def _setitem(m: Machine, a: int, b: int, c: int) -> None:
    t = m.pick(a)
    t[c % t.shape[0]] = m.partner(_first(t.detach(), c), b)


def _no_grad(inner: str) -> Callable[..., Any]:
    def run(m: Machine, a: int, b: int, c: int) -> Any:
        with m.torch.no_grad():
            return INSTRUCTIONS[inner](m, a, b, c)

    return run


def _backward(m: Machine, a: int, b: int, c: int) -> None:
    m.pick(a).sum().backward(retain_graph=bool(b % 2))


def _backward_inputs(m: Machine, a: int, b: int, c: int) -> None:
    m.pick(a).sum().backward(inputs=[m.pick(b)], retain_graph=bool(c % 2))


def _grad(m: Machine, a: int, b: int, c: int) -> Any:
    found = m.torch.autograd.grad(m.pick(a).sum(), [m.pick(b)], create_graph=bool(c % 2), allow_unused=True)
    return [g.clone() for g in found if g is not None]


def _clear_grads(m: Machine, a: int, b: int, c: int) -> None:
    for t in m.tensors:
        if t.is_leaf:
            t.grad = None


def _hook(m: Machine, a: int, b: int, c: int) -> None:
    scale = (None, 2.0, -1.0)[b % 3]
    t = m.pick(a)
    if t._is_view() and t.grad_fn is None:
        return  # torch crashes on a view that requires grad only through its base

    def hook(g: Any) -> Any:
        m.log.append(("hook", c, None if g is None else g.detach().numpy().round(9).tolist()))
        return None if scale is None or g is None else g * scale

    t.register_hook(hook)


def _node_hooks(m: Machine, a: int, b: int, c: int) -> None:
    node = m.pick(a).grad_fn
    if node is None:
        return
    node.register_prehook(lambda g: m.log.append(("pre", c, [None if x is None else tuple(x.shape) for x in g])))
    node.register_hook(lambda i, o: m.log.append(("post", c, [None if x is None else tuple(x.shape) for x in i])))


def _post_accumulate(m: Machine, a: int, b: int, c: int) -> None:
    m.pick(a).register_post_accumulate_grad_hook(
        lambda p: m.log.append(("accumulated", c, None if p.grad is None else p.grad.numpy().round(9).tolist()))
    )


def _function(name: str) -> Callable[..., Any]:
    def run(m: Machine, a: int, b: int, c: int) -> Any:
        out = m.functions[name].apply(m.pick(a))
        return list(out) if isinstance(out, tuple) else [out]

    return run


INSTRUCTIONS: dict[str, Callable[..., Any]] = {
    "sin": unary(lambda t: t.sin()), "exp": unary(lambda t: (t * 0.1).exp()), "neg": unary(lambda t: -t),
    "clone": unary(lambda t: t.clone()), "relu": unary(lambda t: t.relu()), "scale": unary(lambda t: t * 1.5),
    "square": unary(lambda t: t**2), "sum": unary(lambda t: t.sum()), "mean0": unary(lambda t: t.mean(0)),
    "add": binary(lambda t, u: t + u), "mul": binary(lambda t, u: t * u), "sub": binary(lambda t, u: t - u),
    "div": binary(lambda t, u: t / (u * u + 1)),
    "select": lambda m, a, b, c: [_first(m.pick(a), c)], "slice": unary(lambda t: t[0:1]),
    "transpose": unary(lambda t: t.transpose(0, -1)), "unsqueeze": unary(lambda t: t.unsqueeze(0)),
    "flat": unary(lambda t: t.view(-1)), "reshape": unary(lambda t: t.reshape(-1)),
    "unbind": lambda m, a, b, c: list(m.pick(a).unbind(0))[:2], "chunk": lambda m, a, b,
        c: list(m.pick(a).chunk(2))[:2],
    "expand": unary(lambda t: t.unsqueeze(0).expand(2, *t.shape)), "detach": unary(lambda t: t.detach()),
    "diagonal": unary(lambda t: t.diagonal()), "squeeze": unary(lambda t: t.squeeze()), "data": unary(lambda t: t.data),
    "stack": binary(lambda t, u: t.unsqueeze(0) + u), "index": unary(lambda t: t[[0]]),
    "add_": effect(lambda t: t.add_(0.5)), "mul_": effect(lambda t: t.mul_(0.5)), "sin_": effect(lambda t: t.sin_()),
    "exp_": effect(lambda t: t.mul_(0.1).exp_()), "zero_": effect(lambda t: t.zero_()),
        "relu_": effect(lambda t: t.relu_()),
    "fill_": effect(lambda t: t.fill_(0.7)), "pow_": effect(lambda t: t.pow_(2)),
    "add_t": binary_effect(lambda t, u: t.add_(u)), "mul_t": binary_effect(lambda t, u: t.mul_(u)),
    "copy_": binary_effect(lambda t, u: t.copy_(u)), "setitem": _setitem,
    "t_": effect(lambda t: t.t_()), "unsqueeze_": effect(lambda t: t.unsqueeze_(0)),
    "requires": effect(lambda t: t.requires_grad_()), "unrequire": effect(lambda t: t.requires_grad_(False)),
    "retain": effect(lambda t: t.retain_grad()), "detach_": effect(lambda t: t.detach_()),
    "backward": _backward, "backward_inputs": _backward_inputs, "grad": _grad, "clear": _clear_grads,
    "hook": _hook, "node_hooks": _node_hooks, "post_accumulate": _post_accumulate,
    "Triple": _function("Triple"), "Same": _function("Same"), "Dirty": _function("Dirty"), "Both": _function("Both"),
}  # fmt: skip
INSTRUCTIONS |= {
    f"no_grad_{name}": _no_grad(name)
    for name in ("mul", "add_", "slice", "flat", "mul_t", "setitem", "unbind", "Same", "Dirty")
}
NAMES = sorted(INSTRUCTIONS)
