"""Gradients through the values of sparse tensors: leaves, tensors of values, conversions, products, sums (row V-11)."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
from both_engines import assert_agree, differential, raises
from test_sparse_gradients import sparse, told

import retrograd

PLACES = [[0, 1, 1, 0], [2, 0, 2, 2]]


def values(torch: Any) -> Any:
    """A dense leaf, of which the sparse tensors here are made."""
    return torch.tensor([3.0, 4.0, 5.0, 1.0], requires_grad=True)


def made(torch: Any, entries: Any = None) -> Any:
    """Two rows, three columns, one place named twice: a leaf, or of entries with history."""
    a = sparse(torch, torch.tensor(PLACES), values(torch).detach() if entries is None else entries, (2, 3))
    return a.requires_grad_() if entries is None else a


def dense(torch: Any, *shape: int) -> Any:
    """A dense leaf."""
    return torch.arange(6.0).sin().reshape(shape).requires_grad_()


def nodes(t: Any) -> Any:
    """The names along the first edges."""
    found, node = [], t.grad_fn
    while node is not None:
        found.append(node.name())
        node = next((n for n, _ in node.next_functions if n is not None), None)
    return found


LINES = """
a.to_dense()
a.coalesce().values()
a.clone().t()
a.T
a.transpose(0, 1)
a.to_dense().to_sparse()
a.double().float()
torch.sparse.mm(a, x)
torch.sparse.addmm(torch.ones(2, 2), a, x, beta=2, alpha=3)
a @ x
torch.mm(a, x)
a.mv(x[:, 0])
torch.addmm(torch.ones(2, 2), a, x)
torch.spmm(a, x)
x.t() @ a.t()
torch.nn.functional.linear(x.t(), a)
(a.t() @ e) @ x
torch.sparse.sum(a)
torch.sparse.sum(a, 1)
torch.sparse.sum(a, (0, 1))
torch.sparse.sum(a, dtype=torch.float64)
a.sum()
torch.sparse.softmax(a, 1)
torch.sparse.log_softmax(a, 1)
torch.sparse.softmax(a.coalesce(), 0)
2 * a / 4 - a
a * e
e - a
a * torch.tensor(2.0, requires_grad=True)
a.pow(2)
a.relu()
a.abs()
e.sparse_mask(a.detach().coalesce())
torch.stack([a, a])
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_gradients_of_values(line: str) -> None:
    """V-11: result, nodes and gradients of a leaf and of values that the tensor was made of, and of dense operands."""

    def program(torch: Any) -> Any:
        seen = []
        for v in (None, values(torch), values(torch).sin()):
            a, x, e = made(torch, v), dense(torch, 3, 2), dense(torch, 2, 3)
            out = eval(line, {"torch": torch, "a": a, "x": x, "e": e})
            seen += [told(out), nodes(out)]
            (out.to_dense() if out.is_sparse else out).sin().sum().backward()
            leaf = a.grad if v is None else v.grad if v.is_leaf else None
            # which entries there are, and whether each once, depends on PyTorch's kernels; their sum does not
            seen += [None if t is None else t.to_dense() for t in (leaf, x.grad, e.grad)]
        return seen

    assert_agree(program)


@differential
def test_leaves(torch: Any) -> Any:
    """V-11: what leaves and tensors of values say of themselves, layouts of their gradients, gradients added up."""
    a, v = made(torch).detach().coalesce().requires_grad_(), values(torch)
    of_values = made(torch, v)
    copies = a.clone(), a.detach(), a.coalesce()
    seen: list[Any] = [a.is_leaf, a.grad_fn, of_values.is_leaf, nodes(of_values), nodes(of_values.coalesce()), repr(a)]
    seen += [[t.is_leaf, t.requires_grad] for t in copies] + [repr(t) for t in (of_values, (a * 2).double())]
    a.to_dense().sum().backward()
    before = a.grad
    torch.sparse.mm(a, dense(torch, 3, 2)).sum().backward()
    seen += [told(a.grad), a.grad is before]
    a.sum().backward()
    seen += [told(a.grad), a.grad is before]
    a.grad = None
    a.backward(made(torch).detach())
    seen += [told(a.grad), of_values._values().requires_grad, of_values._values() is v]
    (of_values * 2).backward(made(torch).detach())
    made_so = sparse(torch, torch.tensor(PLACES), [1.0, 2, 3, 4], (2, 3))
    return [*seen, v.grad, made_so.requires_grad_().is_leaf, sparse(torch, (2, 3)).requires_grad_().is_leaf]


@differential
def test_asked_for(torch: Any) -> Any:
    """V-11: ``autograd.grad`` with respect to sparse leaves, also with a graph; where gradients reach other places."""
    a, x = made(torch).detach().coalesce().requires_grad_(), dense(torch, 3, 2)
    plain = torch.autograd.grad(torch.sparse.mm(a, x).sin().sum(), (a, x))
    (g,) = torch.autograd.grad(torch.sparse.mm(a, x).sin().sum(), a, create_graph=True)
    second = torch.autograd.grad(g.to_dense().sum(), (a, x))
    (squares,) = torch.autograd.grad(torch.sparse.sum(a * a), a, create_graph=True)
    (of_squares,) = torch.autograd.grad(torch.sparse.sum(squares * squares), a)
    everywhere, x2 = torch.autograd.grad(a.to_dense(masked_grad=False).sum(), a)[0], dense(torch, 2, 3)
    x2.sin().backward(a.detach())
    return [told(t) for t in (*plain, g, squares, of_squares, everywhere, x2.grad)], [t.to_dense() for t in second]


@differential
def test_dense_by_sparse(torch: Any) -> Any:
    """V-11: products with a dense first factor lie in columns, and are no views; also with a vector."""
    a, seen = made(torch, values(torch)), []
    for out in (torch.ones(2, 2) @ a, torch.mm(torch.ones(2, 2), a), torch.sparse.mm(torch.ones(4, 2), a)):
        seen += [out, out.stride(), nodes(out)]
    of_vector = torch.ones(2) @ a
    of_vector.exp().sum().backward()
    return [*seen, of_vector, (torch.ones(1, 2) @ a)._is_view()]


@differential
def test_what_does_not_fit_is_refused(torch: Any) -> Any:
    """V-11: dtypes, dimensions and forms that PyTorch refuses; what it promotes."""
    a, line, v = made(torch).detach(), sparse(torch, torch.tensor([[0, 1]]), torch.ones(2), (3,)), values(torch)
    wide, complex_ = a.double(), torch.complex(torch.eye(2), torch.eye(2)).requires_grad_()
    rows = torch.ones(2, 3).to_sparse(1)
    return [
        torch.ones(2, 3) + wide,
        torch.ones(2, 3, dtype=torch.float64) + a,
        raises("does not match mat2 dtype", torch.sparse.mm, wide, torch.ones(3, 2).to_sparse()),
        raises("Dimension out of range", torch.sparse.mm, line, torch.ones(3, 2)),
        raises("addmm: matrices expected, got 1D tensor", torch.sparse.mm, rows, torch.ones(3, 2)),
        raises("Dimension out of range", torch.sparse.sum, line, 1),
        raises("Dimension out of range", torch.sparse.sum, a, (0, -3)),
        raises("_to_sparse does not support automatic differentiation", complex_.to_sparse),
        complex_.detach().to_sparse().to_dense(),
        raises("sparse_dim argument !=self.sparse_dim() is not supported", a.to_sparse, 1),
        a.to_sparse(2) is a,
        raises("unsupported memory format option Contiguous", a.contiguous),
        raises("!=2 is not supported", line.to_sparse_csr),
        v.requires_grad,
    ]


@differential
def test_to_sparse(torch: Any) -> Any:
    """V-11: gradients of a dense tensor reach what its sparse form kept."""
    seen = []
    for use in (
        lambda s: s.sum(), lambda s: torch.sparse.mm(s, torch.ones(2, 2)).sum(), lambda s: s.to_dense().sin().sum(),
        lambda s: s.values().sin().sum(),
    ):  # fmt: skip
        for dims in ((), (1,)):
            x = torch.tensor([[0, 1.0], [2, 0]], requires_grad=True)
            s = x.to_sparse(*dims)
            if dims and "mm" in use.__code__.co_names:
                continue
            use(s).backward()
            seen += [nodes(s), told(s), told(x.grad)]
    return seen


@differential
def test_attention_on_a_graph(torch: Any) -> Any:
    """V-11: weights of edges are trained through softmax and product, with dropout of entries that are masked."""
    edges = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 1]])
    weights, x = torch.arange(4.0).requires_grad_(), torch.arange(6.0).reshape(3, 2).requires_grad_()
    optimizer = torch.optim.SGD([weights, x], lr=0.1)
    seen = []
    for _ in range(3):
        optimizer.zero_grad()
        attention = torch.sparse.softmax(sparse(torch, edges, weights.sigmoid(), (3, 3)), dim=1)
        loss = torch.sparse.mm(attention, x).relu().square().mean()
        loss.backward()
        optimizer.step()
        seen += [loss.detach(), weights.grad, x.grad]
    return seen


@differential
def test_a_sparse_parameter(torch: Any) -> Any:
    """V-11: it is trained, copied, saved and printed."""
    p = torch.nn.Parameter(made(torch).detach().coalesce())
    optimizer = torch.optim.SGD([p], lr=0.1)
    torch.sparse.mm(p, dense(torch, 3, 2)).sum().backward()
    optimizer.step()
    file, leaf = io.BytesIO(), made(torch)
    torch.save(leaf, file)
    file.seek(0)
    others = copy.deepcopy(leaf), torch.load(file), pickle.loads(pickle.dumps(leaf))
    refused = raises("graph leaves) support the deepcopy protocol", copy.deepcopy, leaf * 2)
    return repr(p), told(p), [told(t) for t in others], refused


@differential
def test_products_that_stay_sparse(torch: Any) -> Any:
    """V-11: of a sparse matrix and a dense one; they have no derivative, which backward says."""
    a, x = made(torch), dense(torch, 3, 2)
    plain = [torch.smm(a, x), torch.hspmm(a, x), torch.sspaddmm(torch.eye(2).to_sparse(), a, x)]
    return [t.detach().to_dense() for t in plain], [
        raises("is not implemented", t.to_dense().sum().backward) for t in plain
    ]  # fmt: skip


REFUSED = {
    "Sparse division requires a scalar or zero-dim dense tensor divisor": lambda a: a.sqrt().to_dense(),
    "add(sparse, dense) is not supported": lambda a: a.expm1().to_dense(),
    "Could not run 'aten::cos' with arguments from the 'SparseCPU' backend": lambda a: a.sin().to_dense(),
    "expand is unsupported for Sparse tensors": lambda a: (a * 1).expand(4, 2, 3),
    "reshape is not implemented for sparse tensors": lambda a: a.reshape(3, 2),
    "Cannot get values on an uncoalesced tensor": lambda a: a.values(),
    "a leaf Variable that requires grad is being used in an in-place operation": lambda a: a.mul_(2),
}


@pytest.mark.parametrize("phrase", REFUSED)
def test_what_has_no_gradient(phrase: str) -> None:
    """V-11: rules that would need operators without a sparse form fail as in PyTorch."""

    def attempt(torch: Any) -> None:
        REFUSED[phrase](made(torch)).sum().backward()

    assert_agree(lambda torch: raises(phrase, attempt, torch))


def test_second_order_through_values() -> None:
    """V-11: PyTorch takes gradients of values for constants; finite differences say what ours are."""

    def product(v: Any, x: Any) -> Any:
        return retrograd.sparse.mm(retrograd.sparse_coo_tensor(PLACES, v, (2, 3)), x).sin()

    v = values(retrograd).detach().double().requires_grad_()
    x = dense(retrograd, 3, 2).detach().double().requires_grad_()
    assert retrograd.autograd.gradcheck(product, (v, x))
    assert retrograd.autograd.gradgradcheck(product, (v, x))


def test_entries_of_a_product_alone() -> None:
    """V-11: the gradient of a large sparse matrix does not pass through a dense one of its size."""
    n = 200_000
    a = retrograd.sparse_coo_tensor([[0, n - 1], [n - 1, 5]], [1.0, 2.0], (n, n), requires_grad=True)
    retrograd.sparse.mm(a, retrograd.ones(n, 2)).sum().backward()
    assert a.grad.is_sparse
    assert a.grad._values().tolist() == [2.0, 2.0]
