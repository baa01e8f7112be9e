"""Sparse tensors in coordinate form: what they hold, operators, gradients of dense operands, refusals."""

from __future__ import annotations

import copy
import io
import warnings
from typing import Any

import pytest
from both_engines import assert_agree, differential, raises

import retrograd


def matrix(torch: Any, coalesced: bool = False) -> Any:
    """Two rows, three columns, one place named twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says once that it does not check places
        places = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
        made = torch.sparse_coo_tensor(places, torch.tensor([3.0, 4.0, 5.0, 1.0]), (2, 3))
    return made.coalesce() if coalesced else made


def parts(a: Any) -> Any:
    """Places and values of a sparse result, or a dense one."""
    if not a.is_sparse:
        return a.detach()
    return [a._indices(), a._values(), tuple(a.shape), a.is_coalesced(), str(a.dtype), str(a.layout)]


@differential
def test_what_a_sparse_tensor_says(torch: Any) -> Any:
    """Places, values, sizes, texts; those of a tensor with places named twice only after ``coalesce``."""
    a = matrix(torch)
    c = a.coalesce()
    seen = [repr(a), repr(c), parts(a), parts(c), a._nnz(), c._nnz(), a.is_sparse, a.layout == torch.sparse_coo,
            a.sparse_dim(), a.dense_dim(), a.dim(), a.numel(), len(a), a.size(1), a.stride(), c.indices(), c.values(),
            a.to_dense(), c.to_dense(), c.coalesce() is c, a.requires_grad, a.is_leaf, isinstance(a, torch.Tensor),
            a.to_sparse() is a, str(a.dtype), a.device.type]  # fmt: skip
    return [*seen, raises("uncoalesced tensor, please call .coalesce() first", a.indices),
            raises("uncoalesced tensor, please call .coalesce() first", a.values)]  # fmt: skip


@differential
def test_texts(torch: Any) -> Any:
    """An unusual dtype stands behind the sizes, and an empty tensor shows the sizes of its parts."""
    a = matrix(torch)
    return [repr(t) for t in (a, a.double(), a.long(), a.bool(), a.to(torch.complex64), a.half(), torch.zeros_like(a),
                              torch.zeros(2, 0).to_sparse(), torch.ones(2, 2, 2).to_sparse(2),
                              torch.tensor(3.0).to_sparse(), torch.ones(70, 60).to_sparse())]  # fmt: skip


@differential
def test_made_in_other_ways(torch: Any) -> Any:
    """From lists, without a size, of arrays as values, empty, from dense tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [torch.sparse_coo_tensor([[0, 1]], [1, 2], (3,)), torch.sparse_coo_tensor([[0, 3], [2, 1]], [1.0, 2.0]),
                torch.sparse_coo_tensor(torch.tensor([[0, 2]]), torch.ones(2, 2), (3, 2)),
                torch.sparse_coo_tensor((2, 3)), torch.tensor([[0, 2.0], [3, 0]]).to_sparse(),
                torch.tensor([[0.0, 2], [0, 0]]).to_sparse(1), torch.zeros(0, 3).to_sparse(),
                torch.sparse_coo_tensor([[0]], [1], (2,), dtype=torch.float64),
                torch.ones(2).to_sparse_coo()]  # fmt: skip
    places = torch.tensor([[0, 1], [2, 0]])
    refused = [raises("must have same nnz, but got nnz from indices: 2, nnz from values: 3", torch.sparse_coo_tensor,
                      places, torch.ones(3)),
               raises("indices must be sparse_dim x nnz", torch.sparse_coo_tensor, places[0],
                      torch.ones(2))]  # fmt: skip
    return [[parts(a), a.to_dense()] for a in made], refused


OPERATORS = """
a @ x
torch.mm(a, x)
a.mm(x)
a @ x[:, 0]
a.mv(x[:, 0])
torch.matmul(c, x)
torch.sparse.mm(a, x)
torch.addmm(torch.ones(2, 2), a, x, beta=2, alpha=3)
torch.sparse.addmm(torch.ones(2, 2), a, x, beta=2, alpha=3)
x.t() @ a.t()
torch.sparse.sum(a)
torch.sparse.sum(a, 1)
torch.sparse.sum(a, (0, 1))
a.sum()
a.t()
a.T
a.transpose(0, 1)
c + c * 2
c - c.sin()
torch.ones(2, 3) + a
x.t() - a
a * 2
a * x.t()
c * c
a / 2
-a
a.abs()
a.sqrt()
a.pow(2)
torch.tanh(a)
a.double()
a.to(torch.float64)
a.clone()
a.detach()
torch.zeros_like(a)
""".strip().splitlines()


@pytest.mark.parametrize("line", OPERATORS)
def test_an_operator(line: str) -> None:
    """Its result is PyTorch's, sparse or dense, with the same node, and so are gradients of the dense operand."""

    def program(torch: Any) -> Any:
        x = torch.arange(6.0).sin().reshape(3, 2).requires_grad_()
        names = {"torch": torch, "a": matrix(torch), "c": matrix(torch, True), "x": x}
        out = eval(line, names)
        node = out.grad_fn.name() if out.grad_fn is not None else None
        if node is None or node == "MulBackward0":
            return parts(out), node
        out.sin().sum().backward()
        return parts(out), node, [n and n.name() for n, _ in out.grad_fn.next_functions], x.grad

    assert_agree(program)


@differential
def test_products_of_two(torch: Any) -> Any:
    """Both sparse: so is the product, each place once, in order."""
    a = matrix(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's way over another form is in beta
        return parts(torch.sparse.mm(a, a.t())), parts(a.t() @ a), parts(torch.mm(a, torch.eye(3).to_sparse() * 0))


@differential
def test_a_net_on_a_graph(torch: Any) -> Any:
    """Two layers that average over neighbours, their matrix a buffer; gradients and the loss after a step."""

    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("neighbours", torch.tensor([[0, 0.5, 0.5], [1, 0, 0], [0, 1, 0]]).to_sparse())
            self.first, self.second = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)

        def forward(self, x: Any) -> Any:
            hidden = torch.relu(torch.sparse.mm(self.neighbours, self.first(x)))
            return self.neighbours @ self.second(hidden)

    net = Net().double()
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(torch.arange(p.numel(), dtype=torch.float64).add(i).sin().reshape(p.shape))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.arange(6.0, dtype=torch.float64).cos().reshape(3, 2)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(x).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    other = copy.deepcopy(net)
    return losses, [p.grad for p in net.parameters()], parts(other.neighbours), parts(net.state_dict()["neighbours"])


@differential
def test_saved_and_loaded(torch: Any) -> Any:
    """A file gives the same places and values back."""
    file = io.BytesIO()
    torch.save({"a": matrix(torch)}, file)
    file.seek(0)
    return parts(torch.load(file)["a"])


PARTS = """
a[1], a[-1], c[0], c[:, 2], list(c)
torch.cat([a, a], 1), torch.cat([c, c]), torch.stack([a, c]), torch.stack([a, c], 1)
a.index_select(1, torch.tensor([2, 2, 0])), c.index_select(0, torch.tensor([1, 0]))
a.unsqueeze(0), c.unsqueeze(-1), torch.tensor(3.0).to_sparse().to_dense()
a.sum(0), a.sum(dim=1), c.sum(0, keepdim=True), a.sum((0, 1)), a.sum(1, dtype=torch.float64)
a.norm(), c.double().norm()
a.mul_(2), a, a._version, c.mul_(c), c.div_(2), c.neg_()
c.add_(c), c, a.sub_(c).to_dense(), a.add_(c, alpha=3).to_dense(), a.add_(c) is a
c.zero_(), a.copy_(torch.eye(2, 3).to_sparse()), a
torch.ones(2, 3).add_(a), torch.ones(2, 3).sub_(c, alpha=2)
""".strip().splitlines()


@pytest.mark.parametrize("line", PARTS)
def test_parts_sums_and_writes(line: str) -> None:
    """One index, some indices, joining, sums over dimensions, and what is written to sparse tensors."""

    def program(torch: Any) -> Any:
        names = {"torch": torch, "a": matrix(torch), "c": matrix(torch, True)}
        found = eval(f"[{line}]", names)
        tensors = [t for part in found for t in (part if isinstance(part, list) else [part])]
        return [parts(t) if isinstance(t, torch.Tensor) else t for t in tensors]

    assert_agree(program)


@differential
def test_a_buffer_is_loaded(torch: Any) -> Any:
    """A module's sparse buffer takes what a state dictionary holds."""
    nets = [torch.nn.Module() for _ in range(2)]
    for net, a in zip(nets, (matrix(torch), matrix(torch, True)), strict=True):
        net.register_buffer("adjacency", a)
    nets[0].load_state_dict(nets[1].state_dict())
    return parts(nets[0].adjacency)


REFUSED = [
    ("Could not run 'aten::exp' with arguments from the 'SparseCPU' backend", lambda torch, a: a.exp()),
    ("Could not run 'aten::view' with arguments from the 'SparseCPU' backend", lambda torch, a: a.view(3, 2)),
    ("is not supported. Use add(dense, sparse) instead", lambda torch, a: a + torch.ones(2, 3)),
    ("can't convert Sparse layout tensor to numpy", lambda torch, a: a.numpy()),
    ("expected scalar type Float but found Double", lambda torch, a: a @ torch.ones(3, 2, dtype=torch.float64)),
    ("Argument #3 (dense): Expected dim 0 size 3, got 2", lambda torch, a: torch.sparse.mm(a, torch.ones(2, 2))),
    ("mv: expected self.size(-1) == vec.size(-1)", lambda torch, a: a @ torch.ones(2)),
    ("mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", lambda torch, a: a @ a),
    ("Dimension out of range", lambda torch, a: torch.sparse.mm(a, torch.ones(3))),
    ("Cannot access storage of SparseTensorImpl", lambda torch, a: a.untyped_storage()),
    ("Cannot access data pointer of Tensor that doesn't have storage", lambda torch, a: a.data_ptr()),
    ("Concatenating sparse tensors, but a dense", lambda torch, a: torch.cat([a, torch.ones(2, 3)])),
    ("copy_() between dense and sparse Tensors is not implemented", lambda torch, a: torch.ones(2, 3).copy_(a)),
    ("index 2 out of range for tensor of size", lambda torch, a: a[2]),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_sparse_tensors_refuse(case: int) -> None:
    """Operators that are for dense tensors only, in PyTorch's words."""
    phrase, call = REFUSED[case]

    assert_agree(lambda torch: raises(phrase, call, torch, matrix(torch)))


def test_places_outside_are_refused() -> None:
    """Where PyTorch reads other memory, an error names the place (its own check does, when it is switched on)."""
    make = retrograd.sparse_coo_tensor
    assert raises("for dim 1, size is 2 but found index 2", make, [[0], [2]], [1.0], (2, 2)) == "RuntimeError"
    assert raises("found negative index -1 for dim 0", make, [[-1], [0]], [1.0], (2, 2)) == "RuntimeError"
    assert raises("must be sparse_dim (1) + dense_dim (0), but got 2", make, [[0]], [1.0], (2, 2)) == "RuntimeError"
