"""Histories cut in nested derivatives: ``detach_`` and ``.data`` cut one level, ``detach`` all; against PyTorch."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from both_engines import assert_agree, differential, raises

import retrograd


def _in_place(torch: Any, t: Any) -> Any:
    made = t.clone()
    made.detach_()
    return made


def _unrecorded(torch: Any, t: Any) -> Any:
    with torch.no_grad():
        return t * 1


CUTS: dict[str, Callable[..., Any]] = {
    "detach": lambda torch, t: t.detach(),
    "detach_": _in_place,
    "torch.detach_": lambda torch, t: torch.detach_(t * 1),
    "data": lambda torch, t: t.data,
    "data of a view": lambda torch, t: t.view(1).data[0],
    "no_grad": _unrecorded,
}
DERIVATIVES: dict[str, Callable[..., Any]] = {
    "grad": lambda torch, f, x: torch.func.grad(f)(x),
    "vjp": lambda torch, f, x: torch.func.vjp(f, x)[1](torch.ones(()))[0],
    "jvp": lambda torch, f, x: torch.func.jvp(f, (x,), (torch.ones(()),))[1],
    "jacrev": lambda torch, f, x: torch.func.jacrev(f)(x),
    "jacfwd": lambda torch, f, x: torch.func.jacfwd(f)(x),
    "each": lambda torch, f, x: torch.func.vmap(torch.func.grad(f))(torch.stack([x, x + 1])).sum(),
}
# which value is cut: functions of the outer variable, the inner derivative and the cut
PLACES: dict[str, Callable[..., Any]] = {
    "inner": lambda x, inner, cut: inner(lambda y: y * cut(y) * y, x) * x,
    "outer, within": lambda x, inner, cut: inner(lambda y: y * cut(x) * y, x) * x,
    "both, within": lambda x, inner, cut: inner(lambda y: y * cut(x * y) * y, x) * x,
    "argument": lambda x, inner, cut: inner(lambda y: y**3, cut(x)) * x,
    "derivative": lambda x, inner, cut: cut(inner(lambda y: y**3, x)) * x,
}


@pytest.mark.parametrize("outer", DERIVATIVES)
def test_cuts_in_nested_derivatives(outer: str) -> None:
    """F-50: the number is PyTorch's whichever level's value is cut, and however."""
    torch = pytest.importorskip("torch")
    warnings.filterwarnings("ignore", message=r".*torch\.jit.*")
    wrong = {}
    for inner in DERIVATIVES:
        for place in PLACES:
            for cut in CUTS:
                wanted, found = (_number(engine, outer, inner, place, cut) for engine in (torch, retrograd))
                if wanted != pytest.approx(found, rel=1e-5):
                    wrong[inner, place, cut] = wanted, found
    assert not wrong


def _number(torch: Any, outer: str, inner: str, place: str, cut: str) -> float:
    def inside(f: Any, x: Any) -> Any:
        return DERIVATIVES[inner](torch, f, x)

    def f(x: Any) -> Any:
        return PLACES[place](x, inside, lambda t: CUTS[cut](torch, t))

    return float(DERIVATIVES[outer](torch, f, torch.tensor(1.3)))


@differential
def test_forward_derivatives_within_each_other_pass_grad_modes(torch: Any) -> Any:
    """F-50: whichever way recording is switched off, two and three forward derivatives go on, and are told the mode."""
    one, told = torch.ones(()), []

    def switched(t: Any) -> Any:
        torch.set_grad_enabled(False)
        made = t * t
        torch.set_grad_enabled(True)
        return made

    def told_of(t: Any) -> Any:
        with torch.no_grad():
            off = torch.is_grad_enabled()
            with torch.enable_grad():
                told.append((off, torch.is_grad_enabled(), (t * 2).sin()))
            return told[-1][2] * t

    def along(f: Any) -> Any:
        return lambda x: torch.func.jvp(f, (x,), (one,))[1]

    found = []
    for f in (switched, torch.no_grad()(lambda t: t**3), told_of):
        found += [along(along(f))(one * 2), along(along(along(f)))(one * 2)]
        found += [torch.func.jacfwd(along(f))(one * 2), along(torch.func.jacfwd(f))(one * 2)]
    return found, [row[:2] for row in told][:3], torch.is_grad_enabled()


def _in_a_mode(torch: Any, leaf: Any) -> dict[str, Callable[..., Any]]:
    """Functions that compute with recording off: directly, and derivatives taken or pulled there."""
    func = torch.func

    def value(y: Any) -> Any:
        with torch.no_grad():
            made = (y * y * leaf).exp()
        return made * y * y

    def derivative(y: Any) -> Any:
        with torch.no_grad():
            made = func.grad(lambda u: u**3 * y)(y)
        return made * y * y

    def pulled(y: Any) -> Any:
        pull = func.vjp(lambda u: u**3 * y, y)[1]
        with torch.no_grad():
            made = pull(y)[0]
        return made * y

    return {"value": value, "derivative": derivative, "pulled": pulled}


@pytest.mark.parametrize("kind", ["value", "derivative", "pulled"])
def test_modes_in_derivatives_within_each_other(kind: str) -> None:
    """F-50: ``no_grad`` stops gradients and no tangents, however derivatives are nested, also those of the program."""
    pytest.importorskip("torch")
    assert_agree(lambda torch: [_nested(torch, kind, names) for names in itertools.product(*[_OF] * 3)])


_OF: dict[str, Callable[..., Any]] = {
    "grad": lambda torch, f: torch.func.grad(f),
    "jvp": lambda torch, f: lambda x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[1],
    "jacfwd": lambda torch, f: torch.func.jacfwd(f),
}


def _nested(torch: Any, kind: str, names: tuple[str, ...]) -> Any:
    x, leaf = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (1.3, 0.7))
    f = _in_a_mode(torch, leaf)[kind]
    for name in names:
        f = _OF[name](torch, f)
    out = f(x)
    return out.detach(), torch.autograd.grad(out + 0 * x, (x, leaf), allow_unused=True)[0]


@differential
def test_unrecorded_writes_in_derivatives_within_each_other(torch: Any) -> Any:
    """F-50: a write under ``no_grad`` changes tangents, and leaves gradients as they were."""

    def f(y: Any) -> Any:
        made = torch.stack([y * y, y]) * y
        with torch.no_grad():
            made[0].mul_(y)
            made[1] = y * 3
        return (made * made).sum() * y

    x = torch.tensor(1.3, dtype=torch.float64)
    pairs = [(outer, inner) for outer, inner in itertools.product(_OF, _OF) if inner == "grad" or outer != "grad"]
    return [_OF[outer](torch, _OF[inner](torch, f))(x) for outer, inner in pairs]


def test_gradients_of_tangents_of_unrecorded_writes_are_refused() -> None:
    """F-50: what PyTorch makes of these is no derivative; here a sentence says that it is not known."""

    def f(y: Any) -> Any:
        made = y * y
        with retrograd.no_grad():
            made.mul_(2)
        return made * y

    with pytest.raises(RuntimeError, match="in place of the write"):
        retrograd.func.grad(retrograd.func.jacfwd(f))(retrograd.tensor(2.0))


@differential
def test_cuts_leave_the_programs_own_graph(torch: Any) -> Any:
    """F-50: a gradient by a leaf that the function refers to goes through what was cut in a derivative."""
    leaf, x = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0)
    found = []
    for cut in ("detach", "detach_", "data"):
        value = torch.func.grad(lambda v, cut=cut: v * CUTS[cut](torch, v * leaf))(x)
        gradient = torch.autograd.grad(value, leaf)[0] if value.requires_grad else None
        found.append((value, value.requires_grad, gradient))
    return found


def test_data_is_not_set_within_derivatives() -> None:
    """F-50: a tensor's memory is not replaced where derivatives are taken."""

    def f(torch: Any) -> Any:
        def of(v: Any) -> Any:
            made = v * 2
            made.data = torch.zeros(())
            return made * v

        return torch.func.grad(of)(torch.tensor(2.0))

    assert_agree(f)


@differential
def test_forward_of_a_function_records_nothing_beneath_directions(torch: Any) -> Any:
    """F-09: what a custom Function computes in its forward has no history, and is constant where it was saved."""
    told = []

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            sine = x.sin()
            told.append((sine.requires_grad, torch.is_grad_enabled()))
            return sine * x, sine

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.mark_non_differentiable(output[1])
            ctx.save_for_backward(*inputs, output[1])
            ctx.save_for_forward(*inputs, output[1])

        @staticmethod
        def backward(ctx: Any, g: Any, _: Any) -> Any:
            x, sine = ctx.saved_tensors
            return g * (sine + x * x.cos())

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            x, sine = ctx.saved_tensors
            return t * (sine + x * x.cos()), None

    Scaled.generate_vmap_rule = True
    x, f = torch.tensor(1.3, dtype=torch.float64), lambda u: Scaled.apply(u)[0]
    pairs = [(a, b) for a in _OF for b in _OF if "grad" in (a, b)]
    return [_OF[a](torch, _OF[b](torch, f))(x) for a, b in pairs], set(told)


@differential
def test_directions_ask_functions_for_their_rule(torch: Any) -> Any:
    """F-40: a custom Function without ``jvp`` is refused along directions, also by ``jacfwd`` and ``hessian``."""

    class Sine(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0].cos()

    x, f = torch.tensor(1.3), lambda u: Sine.apply(u * u)
    wanted = "must implement the jvp function"
    return [raises(wanted, made, x) for made in (torch.func.jacfwd(f), torch.func.hessian(f))]
