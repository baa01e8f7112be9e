"""Samples of sparse tensors: made of values, taken apart, multiplied, summed; look-ups with sparse gradients."""

from __future__ import annotations

import warnings

import numpy as np
from op_samples import Const, program, real

NN = "nn.functional."
PLACES = np.array([[0, 1, 1, 0], [2, 0, 2, 2]])
ENTRIES = real(4)
DENSE = real(3, 2)
WHERE = np.array([1, 3, 1, 0])
TABLE = real(5, 3)


def made(torch, entries, size=(2, 3)):  # type: ignore[no-untyped-def]
    """A sparse matrix that names one place twice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says once that it does not check places
        return torch.sparse_coo_tensor(torch.tensor(PLACES), entries, size)


def csr(torch, entries):  # type: ignore[no-untyped-def]
    """A matrix by rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this form is in beta
        return torch.sparse_csr_tensor([0, 2, 3], [0, 2, 1], entries, (2, 3))


def of_entries(name, call, *others, **options):  # type: ignore[no-untyped-def]
    """A sample whose first argument becomes a sparse matrix's entries."""
    return program(
        name, lambda torch, entries, *rest: call(torch, made(torch, entries), *rest), ENTRIES, *others,
        note="sparse", forward=False, node=False, variants=False, **options,
    )  # fmt: skip


def dense_gradient(call):  # type: ignore[no-untyped-def]
    """A look-up in a table that is computed, whose gradient meets a dense one."""
    return lambda torch, table, *rest: (call(torch, table * 2, *rest), table.sin())


def look_up(name, call, *args, **options):  # type: ignore[no-untyped-def]
    """A sample whose gradient is sparse until it meets another one."""
    return program(
        name, dense_gradient(call), *args, note="sparse", forward=False, node=False, variants=False, second=False,
        **options,
    )  # fmt: skip


SAMPLES = [
    # PyTorch's second order takes the gradients of entries for constants
    of_entries("sparse.mm", lambda torch, a, x: torch.sparse.mm(a, x), DENSE, second=False),
    of_entries("sparse.addmm", lambda torch, a, x, m: torch.sparse.addmm(m, a, x, beta=2, alpha=3), DENSE, real(2, 2),
               second=False),
    of_entries("sparse.mm", lambda torch, a: torch.sparse.mm(a, a.t()).to_dense(), second=False),
    of_entries("sparse.sum", lambda torch, a: torch.sparse.sum(a, 1).to_dense(), second=False),
    of_entries("sparse.softmax", lambda torch, a: torch.sparse.softmax(a, 1).to_dense(), second=False),
    of_entries("sparse.log_softmax", lambda torch, a: torch.sparse.log_softmax(a, 0).to_dense(), second=False),
    of_entries("to_dense", lambda torch, a: (a.to_dense(), a.coalesce().values()), second=False),
    program(
        "to_sparse", lambda torch, x: (x.to_sparse().to_dense(), x.to_sparse(1).to_dense()), real(2, 3),
        note="sparse", forward=False, node=False, variants=False, second=False,
    ),
    program(
        "sparse_mask", lambda torch, x: x.sparse_mask(made(torch, torch.ones(4, dtype=x.dtype)).coalesce()).values(),
        real(2, 3), note="sparse", forward=False, node=False, variants=False, second=False,
    ),
    of_entries("hspmm", lambda torch, a, x: torch.hspmm(a.detach(), x.detach()).to_dense(), Const(DENSE), grad=False),
    of_entries("smm", lambda torch, a, x: torch.smm(a.detach(), x.detach()).to_dense(), Const(DENSE), grad=False),
    of_entries("to_sparse_csr", lambda torch, a, x: (a.to_sparse_csr() @ x, a.to_sparse_csr().to_sparse().to_dense()),
               DENSE, second=False),
    program(
        "sparse_csr_tensor", lambda torch, v, x: (csr(torch, v) @ x, csr(torch, v).to_dense()), real(3), DENSE,
        note="sparse", forward=False, node=False, variants=False, second=False,
    ),
    look_up(
        NN + "embedding", lambda torch, table, where: torch.nn.functional.embedding(where, table, sparse=True),
        TABLE, WHERE,
    ),
    look_up(
        NN + "embedding_bag",
        lambda torch, table, where, weights: torch.nn.functional.embedding_bag(
            where, table, torch.tensor([0, 2]), mode="sum", sparse=True, per_sample_weights=weights
        ),
        TABLE, WHERE, real(4),
    ),
    look_up(
        "gather", lambda torch, table, where: torch.gather(table, 0, where, sparse_grad=True), TABLE, WHERE[:, None],
    ),
]  # fmt: skip
