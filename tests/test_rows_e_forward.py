"""SPEC rows E-31 to E-35: forward-mode levels, dual tensors, propagation, and mixing with reverse mode."""

from __future__ import annotations

import pytest
from both_engines import differential, raises

import retrograd


def dual_of(torch, *values, tangent=None):
    """A dual tensor with the given tangent (ones)."""
    primal = torch.tensor(list(values or (1.0, 2.0)))
    return torch.autograd.forward_ad.make_dual(primal, torch.ones_like(primal) if tangent is None else tangent)


@differential
def test_E_31_levels(torch):
    """E-31: a context or decorator that gives level 0; leaving clears tangents, also after exceptions."""
    fw = torch.autograd.forward_ad
    with fw.dual_level() as level:
        dual = dual_of(torch)
        inside = fw.unpack_dual(dual).tangent
        nested = raises("Nested forward mode AD is not supported", fw.enter_dual_level)
    after = fw.unpack_dual(dual).tangent
    try:
        with fw.dual_level():
            other = dual_of(torch)
            raise KeyError("x")
    except KeyError:
        pass

    @fw.dual_level()
    def decorated():
        return fw.unpack_dual(dual_of(torch) * 2).tangent

    with fw.dual_level():
        later = fw.unpack_dual(dual).tangent, fw.unpack_dual(other).tangent
    entered = fw.enter_dual_level()
    wrong = raises("was not the last one", fw.exit_dual_level, level=5)
    fw.exit_dual_level(level=0)
    return level, inside, nested, after, later, decorated(), entered, wrong, raises("", fw.exit_dual_level)


@differential
def test_E_32_make_dual(torch):
    """E-32: an alias of the primal, a view that shares memory and version; the original is untouched."""
    fw = torch.autograd.forward_ad
    primal, tangent = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    with fw.dual_level():
        dual = fw.make_dual(primal, tangent)
        dual.detach()
        found = [dual is primal, dual._is_view(), dual._base is primal, dual.data_ptr() == primal.data_ptr()]
        primal.add_(1)
        found += [dual._version, primal._version, fw.unpack_dual(primal).tangent, dual]
        mixed = fw.make_dual(torch.ones(2), torch.ones(2, dtype=torch.float64))
        again = raises("", fw.make_dual, dual, tangent)
        small = raises("different size", fw.make_dual, torch.ones(3), tangent)
        ints = [
            raises("Expected primal to be floating point or complex", fw.make_dual, torch.ones(2).long(), tangent),
            raises("Expected tangent to be floating point or complex", fw.make_dual, primal, torch.ones(2).long()),
        ]
        leaf = torch.ones(2, requires_grad=True)
        recorded = fw.make_dual(leaf, tangent)
        found += [recorded.requires_grad, recorded.is_leaf]
    return found, str(mixed.dtype), again, small, ints, raises("no level exists", fw.make_dual, primal, tangent)


@differential
def test_E_33_unpack_dual(torch):
    """E-33: primal and tangent by name; None for what is not dual; the tangent is the stored object."""
    fw = torch.autograd.forward_ad
    plain = torch.ones(2)
    tangent = torch.tensor([3.0, 4.0])
    outside = fw.unpack_dual(plain)
    with fw.dual_level():
        dual = fw.make_dual(plain, tangent)
        unpacked = fw.unpack_dual(dual)
        again = fw.unpack_dual(dual).tangent is unpacked.tangent
        not_dual = fw.unpack_dual(plain)
        primal_of_primal = fw.unpack_dual(unpacked.primal).tangent
        stored = unpacked.tangent is tangent
    return (
        outside.primal is plain, outside.tangent, unpacked._fields, unpacked, again, stored, not_dual.tangent,
        primal_of_primal, fw.unpack_dual(dual).tangent,
    )  # fmt: skip


@differential
def test_E_34_propagation(torch):
    """E-34: tangents flow through all operations whatever the grad mode; missing ones are zero; integers have none."""
    fw = torch.autograd.forward_ad
    found = []
    with fw.dual_level():
        x = dual_of(torch, 1.0, 2.0, tangent=torch.tensor([1.0, -1.0]))
        plain = torch.tensor([3.0, 4.0])
        results = [
            x * plain, plain - x, x / plain, x.exp(), x.sin(), x**3, x.sum(), x[0], x.view(2, 1), x @ plain,
            torch.stack([x, plain]), x.relu(), x.mean(), torch.where(x > 1.5, x, plain), x.clone(), x.max(), x * x,
        ]  # fmt: skip
        found = [fw.unpack_dual(r) for r in results]
        with torch.no_grad():
            found.append(fw.unpack_dual(x * 2).tangent)
        found += [fw.unpack_dual(t).tangent for t in (x.long(), x > 1, x.argmax(), plain * 2)]
        found.append("tangent=" in repr(x))
        written = torch.zeros(2)
        written.copy_(x)
        found.append(fw.unpack_dual(written).tangent)
        found.append(fw.unpack_dual(x.detach()).tangent)
    return found


@differential
def test_E_34_switched_off(torch):
    """E-34: propagation can be switched off in a thread."""
    fw = torch.autograd.forward_ad
    found = [fw._is_fwd_grad_enabled()]
    with fw.dual_level():
        x = dual_of(torch)
        with fw._set_fwd_grad_enabled(False):
            found += [fw._is_fwd_grad_enabled(), fw.unpack_dual(x * 2).tangent]
        found += [fw._is_fwd_grad_enabled(), fw.unpack_dual(x * 2).tangent]
    return found


def test_E_34_the_primal_is_untouched_by_a_function_without_rule():
    """E-34: a custom Function without jvp says what to do."""

    class NoRule(retrograd.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    with retrograd.autograd.forward_ad.dual_level():
        x = dual_of(retrograd)
        with pytest.raises((RuntimeError, NotImplementedError), match="jvp"):
            NoRule.apply(x)


@differential
def test_E_35_reverse_over_forward(torch):
    """E-35: a tangent is differentiated like any tensor, with saved values that keep their tangents."""
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    t = torch.tensor([3.0, 5.0], requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        y = (dual.sin() * dual.exp()).sum()
        tangent = fw.unpack_dual(y).tangent
        first = torch.autograd.grad(tangent, [x, t], retain_graph=True)
        second = torch.autograd.grad(y, x)
    return tangent, first, second


@differential
def test_E_35_forward_over_reverse(torch):
    """E-35: gradients computed inside a level have tangents: a Hessian-vector product."""
    fw = torch.autograd.forward_ad
    found = []
    for f in (lambda x: (x**3).sum(), lambda x: (x.exp() * x).sum(), lambda x: x.sigmoid().sum() ** 2):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        v = torch.tensor([1.0, -2.0])
        with fw.dual_level():
            dual = fw.make_dual(x, v)
            (g,) = torch.autograd.grad(f(dual), dual, create_graph=True)
            unpacked = fw.unpack_dual(g)
            (of_tangent,) = torch.autograd.grad(unpacked.tangent.sum(), x)
            found.append((unpacked.primal, unpacked.tangent, of_tangent))
    return found
