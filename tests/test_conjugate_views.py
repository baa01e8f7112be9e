"""``x.conj()`` and ``x.conj().imag`` share memory with ``x`` and are conjugated or negated when read, as in PyTorch.

Each case runs on both engines; what it returns is compared, tensors with their values and requires_grad.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_runs import array, is_tensor, quiet

import retrograd

real_torch = pytest.importorskip("torch")

Case = Callable[[Any], Any]
CASES: list[Case] = []


def case(function: Case) -> Case:
    """Run a function on both engines."""
    CASES.append(function)
    return function


def complex_leaf(torch: Any, grad: bool = False) -> Any:
    """Three complex numbers."""
    return torch.tensor([1 + 2j, 3 - 4j, 0.5j], dtype=torch.complex128, requires_grad=grad)


@case
def what_they_say_of_themselves(torch: Any) -> Any:
    """Bits, base, memory, strides."""
    x = complex_leaf(torch)
    y, wide = x.conj(), torch.ones(4, 6, dtype=torch.complex64)[::2, 1:].conj()
    return [
        y.is_conj(), x.is_conj(), y.is_neg(), y._is_view(), y._base is x, y.data_ptr() == x.data_ptr(),
        y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(), y.is_set_to(x),
        torch.ones(2).conj().is_conj(), isinstance(y, torch.Tensor), repr(y), y.imag.is_neg(), y.real.is_neg(),
        y.imag.is_conj(), y.imag._base is x, wide.stride(), wide.storage_offset(), wide.is_contiguous(),
    ]  # fmt: skip


@case
def which_calls_keep_it(torch: Any) -> Any:
    """Views stay unresolved; copies and results are resolved."""
    y = complex_leaf(torch).conj()
    made = [
        y.clone(), y.contiguous(), y.detach(), y.data, y.to(torch.complex64), y[0], y.view(3, 1), y.reshape(1, 3),
        y.expand(2, 3), y.t(), y[1:], y[torch.tensor([0, 1])], y.unsqueeze(0), y.chunk(3)[0], y.unbind()[0], y * 2,
        y + y, -y, y.conj(), y.conj_physical(), y.imag, y.imag.clone(), y.imag[0], torch.stack([y, y]),
        torch.zeros_like(y), torch._neg_view(y), y.resolve_conj(), y.imag.resolve_neg(), torch._conj(y),
        torch._conj_physical(y), copy.deepcopy(y), pickle.loads(pickle.dumps(y)), torch.nn.Parameter(y.imag),
        torch.ones(2, 3, dtype=torch.complex64).mH, torch.ones(2, 3, dtype=torch.complex64).adjoint(),
    ]  # fmt: skip
    same = [y.resolve_conj() is y, y.conj().resolve_conj() is y, y.conj()._base is y._base]
    return [*made, *[(t.is_conj(), t.is_neg()) for t in made[:-5]], *same, y.tolist(), y[0].item()]


@case
def what_numpy_gets(torch: Any) -> Any:
    """``numpy()`` names the bit, unless it is forced."""
    y = complex_leaf(torch).conj()
    calls = [lambda: y.numpy(), lambda: np.asarray(y), lambda: y.imag.numpy(), lambda: torch.view_as_real(y)]
    return [*[message(f) for f in calls], y.numpy(force=True), y.imag.numpy(force=True)]


def message(call: Callable[[], Any]) -> str:
    """What a call that is refused says."""
    with pytest.raises(RuntimeError) as caught:
        call()
    return str(caught.value)[:120]


@case
def writes_show_on_the_other_side(torch: Any) -> Any:
    """Through the view and through the base, counted by one version."""
    x = complex_leaf(torch)
    y = x.conj()
    seen = []
    for write in (
        lambda: y.mul_(1j), lambda: x.mul_(2 + 1j), lambda: y.__setitem__(0, 5 + 5j), lambda: y.add_(1),
        lambda: y.copy_(torch.ones(3) * 3j), lambda: y.real.fill_(7), lambda: y.imag[0].fill_(3), lambda: y.neg_(),
        lambda: y.split(1)[1].zero_(), lambda: y.index_fill_(0, torch.tensor([1]), 2j), lambda: y.sub_(x),
        lambda: y.masked_fill_(torch.tensor([False, False, True]), 6j), lambda: x.copy_(y), lambda: y.conj_physical_(),
        lambda: torch.mul(x, 2, out=y), lambda: y.detach().fill_(1j), lambda: y.data.add_(1j), lambda: y.imag.neg_(),
    ):  # fmt: skip
        write()
        seen.append((x.clone(), y.clone(), x._version, y._version))
    return seen


@case
def writes_through_matrices(torch: Any) -> Any:
    """Diagonals, rows and transposes of what is conjugated."""
    x = torch.zeros(3, 3, dtype=torch.complex128)
    x.conj().diagonal().copy_(torch.tensor([1j, 2j, 3j]))
    x.mH[0] = 5j
    x.H.add_(1j)
    y = x.conj()
    y.t_()
    y[0] = 9j
    return x, y, y.is_conj(), y.stride()


@case
def history_of_the_view(torch: Any) -> Any:
    """The names of nodes, and gradients through reading."""
    x = complex_leaf(torch, grad=True)
    y = x.conj()
    part = y.imag
    product = y * y
    saved = product.grad_fn._saved_self
    kept = saved.is_conj(), saved.clone()
    (product.imag.sum() + part.sum()).backward()
    names = [y.grad_fn.name(), part.grad_fn.name(), part.grad_fn.next_functions[0][0].name()]
    return names, x.grad, kept


@case
def history_after_writes(torch: Any) -> Any:
    """Writes through views of views, and through the base, are part of the graph."""
    found = []
    for write in (
        lambda x, y: y.mul_(2j), lambda x, y: x.mul_(2j), lambda x, y: y[1:].imag.mul_(3),
        lambda x, y: x.__setitem__(0, 5j), lambda x, y: y.copy_(x), lambda x, y: y.zero_(),
    ):  # fmt: skip
        leaf = complex_leaf(torch, grad=True)
        x = leaf * 1
        y = x.conj()
        write(x, y)
        ((x * (2 + 1j)).imag + (y * y).real).sum().backward()
        found.append((x.grad_fn.name(), y.grad_fn.name(), leaf.grad, x, y))
    return found


@case
def refused_writes(torch: Any) -> Any:
    """Of leaves, and of what backward needs."""
    leaf = complex_leaf(torch, grad=True)
    y = (leaf * 1).conj()
    square = (y * y).abs().sum()
    y.mul_(2)
    return message(lambda: leaf.conj().mul_(2))[:70], message(square.backward)


@case
def leaves_and_gradients(torch: Any) -> Any:
    """A conjugated leaf of its own, and a gradient that is added to one."""
    y = complex_leaf(torch).conj().requires_grad_()
    (y * y.conj()).real.sum().backward()
    x = complex_leaf(torch, grad=True)
    x.grad = torch.zeros(3, dtype=torch.complex128).conj()
    (x * 2j).real.sum().backward()
    return y.is_leaf, y.is_conj(), y.grad, x.grad


@case
def further_derivatives(torch: Any) -> Any:
    """Second order, forward mode, saved-tensor hooks, one entry at a time."""
    x = complex_leaf(torch, grad=True)
    (g,) = torch.autograd.grad((x.conj() ** 2 * x.conj().imag).abs().sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.abs().sum(), x)
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(complex_leaf(torch), torch.tensor([1j, 2.0, 3 + 1j], dtype=torch.complex128))
        tangent = forward.unpack_dual(dual.conj() * dual.conj().imag).tangent
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        (k,) = torch.autograd.grad((x.conj() * x.conj()).imag.sum(), x)
    return g, h, tangent, k, torch.func.vmap(lambda t: t.conj() * 2)(complex_leaf(torch))


@case
def without_a_graph(torch: Any) -> Any:
    """Views made under ``no_grad`` and in inference mode."""
    with torch.no_grad():
        y = complex_leaf(torch, grad=True).conj()
    with torch.inference_mode():
        x = complex_leaf(torch)
        z = x.conj()
        z[0] = 2j
        return y.is_conj(), y._is_view(), y.requires_grad, x.clone(), z.clone(), z.is_inference()


def plain(value: Any) -> Any:
    """Results in a form that can be compared."""
    if is_tensor(value):
        return (str(value.dtype), value.requires_grad, array(value).round(9).tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@case
def parameters(torch: Any) -> Any:
    """A parameter made of a conjugate shares its memory, is registered, printed, copied and filled."""
    x = complex_leaf(torch)
    m = torch.nn.Module()
    m.p, m.q = torch.nn.Parameter(x.conj()), torch.nn.Parameter(x.conj().imag)
    copied = copy.deepcopy(m)
    shown = [repr(m.p), repr(m.q), repr(copied.p), len(list(copied.parameters())), m.p.is_conj(), m.q.is_neg()]
    m.load_state_dict({"p": torch.full((3,), 2 + 1j, dtype=x.dtype), "q": torch.ones(3, dtype=torch.float64)})
    (m.p.abs().sum() + m.q.sum()).backward()
    m.p.data = complex_leaf(torch)
    return [*shown, x, m.p, m.q, m.q.grad, isinstance(m.p, torch.nn.Parameter), repr(m.p)]


@case
def another_place(torch: Any) -> Any:
    """``resize_`` and ``set_`` leave what is done to the values."""
    y, n, z = complex_leaf(torch).conj(), complex_leaf(torch).conj().imag, complex_leaf(torch).conj()
    y.resize_(2)
    n.resize_(1, 2)
    z.set_(complex_leaf(torch))
    return [y, n, z, y.is_conj(), n.is_neg(), z.is_conj()]


@case
def copied_and_pickled(torch: Any) -> Any:
    """A shallow copy shares the memory; a deep one is resolved; a pickle says what is done to its memory."""
    x = complex_leaf(torch)
    y = x.conj()
    shallow, deep, read = copy.copy(y), copy.deepcopy(y.imag), pickle.loads(pickle.dumps(y.imag))
    shallow[0] = 5j
    p = torch.nn.Parameter(complex_leaf(torch).conj())
    q = pickle.loads(pickle.dumps(p))
    made = [
        x,
        y,
        shallow.is_conj(),
        deep,
        deep.is_neg(),
        read,
        read.is_neg(),
        repr(q),
        q.is_conj(),
        repr(copy.deepcopy(p)),
    ]
    p.data = complex_leaf(torch)
    return [*made, type(p).__name__, type(copy.deepcopy(p)).__name__]


@case
def reshaped(torch: Any) -> Any:
    """A conjugated view that does not lie in rows is copied where its elements do not fit the new shape."""
    x = torch.outer(complex_leaf(torch, grad=True), complex_leaf(torch))[:2]
    q = x.conj().t().reshape(-1)
    return [q, q.grad_fn.name(), x.mH.flatten(), x.conj().imag.t().reshape(-1), torch.cartesian_prod(x[0].conj(), x[1])]


@case
def complex_numbers_are_seen_only_where_they_lie_in_pairs(torch: Any) -> Any:
    """Strides and offsets that are odd are refused: what lay there would be other pairs."""
    x = torch.arange(12.0)
    found = []
    for sizes, strides, offset in [((2, 2), (1, 1), 0), ((2, 2), (3, 1), 0), ((2, 2), (2, 1), 1), ((2, 2), (4, 1), 2),
                                   ((1, 2), (3, 1), 0), ((2, 2), (2, 2), 0)]:  # fmt: skip
        try:
            found.append(torch.view_as_complex(x.as_strided(sizes, strides, offset)).tolist())
        except RuntimeError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("run", CASES, ids=[c.__name__ for c in CASES])
def test_conjugate_views(run: Case) -> None:
    """The case gives on our engine what it gives on PyTorch."""
    with quiet():
        ours, theirs = plain(run(retrograd)), plain(run(real_torch))
    for a, b in zip(ours, theirs, strict=True):
        assert a == b
