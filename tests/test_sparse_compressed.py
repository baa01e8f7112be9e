"""Sparse matrices by rows (CSR): what they hold, conversions, products, gradients into values, files (row V-11)."""

from __future__ import annotations

import functools
import io
import pickle
import warnings
from typing import Any

from both_engines import differential, raises
from test_sparse_values import dense, nodes


def csr(torch: Any, values: Any = None, **options: Any) -> Any:
    """Two rows, three columns, three entries."""
    entries = [1.0, 2.0, 3.0] if values is None else values
    return torch.sparse_csr_tensor([0, 2, 3], [0, 2, 1], entries, (2, 3), **options)


def quiet(program: Any) -> Any:
    """The program without PyTorch's warning that this form is in beta."""

    @functools.wraps(program)
    def run(torch: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return program(torch)

    return run


def told(c: Any) -> Any:
    """What is to be seen of a matrix or a gradient."""
    if not c.is_sparse_csr:
        return c.to_dense().detach()
    node = c.grad_fn and c.grad_fn.name()
    return [c.crow_indices(), c.col_indices(), c.values().detach(), tuple(c.shape), c.requires_grad, node]


@differential
@quiet
def test_what_a_matrix_says(torch: Any) -> Any:
    """V-11: parts, attributes, texts; attributes of other layouts beside it, and what each refuses."""
    c, a, d = csr(torch), torch.eye(2).to_sparse(), torch.ones(2)
    said = [told(c), repr(c), repr(c.double()), repr(csr(torch, requires_grad=True)), c._nnz(), c.sparse_dim(),
            c.dense_dim(), c.dim(), str(c.dtype), c.layout is torch.sparse_csr]  # fmt: skip
    said += [[str(t.layout), t.is_sparse, t.is_sparse_csr] for t in (a, c, d)]
    refused = [
        raises("indices expected sparse coordinate tensor layout but got SparseCsr", c.indices),
        raises("coalesce expected sparse coordinate tensor layout but got SparseCsr", c.coalesce),
        raises("crow_indices expected sparse row compressed tensor layout but got Sparse", a.crow_indices),
        raises("crow_indices expected sparse row compressed tensor layout but got Strided", d.crow_indices),
    ]
    return said, refused


@differential
@quiet
def test_conversions_and_operators(torch: Any) -> Any:
    """V-11: to and from other forms, products with dense and sparse matrices, element by element."""
    c, x = csr(torch), dense(torch, 3, 2).detach()
    seen = [c @ x, torch.mv(c, x[:, 0]), torch.sparse.mm(c, x), torch.addmm(torch.ones(2, 2), c, x), x.t() @ c.t(),
            c.t() @ torch.ones(2, 2), torch.ones(2, 2) @ c, torch.ones(2, 3) + c, c + c, c * 2, -c, c * c, c.clone(),
            c.to_sparse(), c.to_sparse_csr(), c.to_sparse().to_sparse_csr(), torch.eye(2).to_sparse_csr(),
            torch.sparse.addmm(torch.ones(2, 2), c, x, beta=2, alpha=3), torch.sin(c), csr(torch).double()]  # fmt: skip
    return [told(t) for t in seen]


@differential
@quiet
def test_gradients(torch: Any) -> Any:
    """V-11: into values that a matrix is made of, into leaves, through conversions, with PyTorch's nodes."""
    seen = []
    for use in (lambda c, x: c @ x, lambda c, x: c.to_dense(), lambda c, x: c.values(), lambda c, x: c @ x[:, 0]):
        values, leaf, x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), csr(torch, requires_grad=True), None
        for c in (csr(torch, values), leaf):
            x = dense(torch, 3, 2)
            out = use(c, x)
            seen.append(nodes(out))
            out.sin().sum().backward()
            seen.append(x.grad)
        seen += [values.grad, told(leaf.grad)]
    d = torch.tensor([[0, 1.0], [2, 0]], requires_grad=True)
    c = d.to_sparse_csr()
    (c @ torch.ones(2, 2)).sum().backward()
    a = torch.tensor([[0, 1.0], [2, 0]]).to_sparse().requires_grad_()
    a.to_sparse_csr().to_dense().sin().sum().backward()
    return seen, told(c), d.grad, nodes(a.to_sparse_csr()), told(a.grad)


@differential
@quiet
def test_saved_and_loaded(torch: Any) -> Any:
    """V-11: files and pickles give the same parts back."""
    file = io.BytesIO()
    torch.save(csr(torch), file)
    file.seek(0)
    return told(torch.load(file)), told(pickle.loads(pickle.dumps(csr(torch))))
