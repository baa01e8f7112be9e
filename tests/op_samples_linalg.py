"""Samples of linear algebra: products, systems of equations, determinants, factors, eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np
from op_samples import Const, Sample, calls, cplx, ints, program, real


def good(*shape: int, start: int = 0) -> Any:
    """Well-conditioned square matrices."""
    return real(*shape, start=start) + 3 * np.eye(shape[-1])


def good_complex(*shape: int) -> Any:
    """Well-conditioned complex square matrices."""
    return cplx(*shape) + 4 * np.eye(shape[-1])


def hermitian(a: Any) -> Any:
    """The hermitian part of matrices."""
    return (a + a.mT.conj()) / 2


def definite(a: Any) -> Any:
    """Positive-definite matrices."""
    return a @ a.mT.conj() + np.eye(a.shape[-1])


B2, B3 = real(2, 3, 4), real(2, 4, 3, start=2)
INF = float("inf")


def _rebuilt(torch: Any, a: Any) -> Any:
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    return (u * s) @ vh + (u * s**2) @ vh


def _solved_by_factors(torch: Any, a: Any, b: Any, left: bool, adjoint: bool) -> Any:
    both, pivots = torch.linalg.lu_factor(a)
    return torch.linalg.lu_solve(both, pivots, b, left=left, adjoint=adjoint)


def _sizes_of_singular_vectors(torch: Any, a: Any, full: bool) -> Any:
    """Singular vectors are known up to a sign or phase; vectors that belong to no value take no gradient."""
    u, s, vh = torch.linalg.svd(a, full_matrices=full)
    k = s.shape[-1]
    return [u[..., :k].abs(), s, vh[..., :k, :].abs()]


def _sizes_of_eigenvectors(torch: Any, a: Any, side: str) -> Any:
    values, vectors = torch.linalg.eigh(a, side)
    return [values, vectors.abs()]


PRODUCTS = [
    *calls("matmul linalg.matmul", [real(2, 3), real(3, 2)], [real(3), real(3)], [real(2, 3), real(3)], [real(3), real(3, 2)],
           [B2, B3], [B2, real(4, 2)], [real(5, 1, 2, 3), real(2, 3, 2)], [cplx(2, 3), cplx(3, 2)], [real(0, 3), real(3, 2)],
           [ints(2, 3), ints(3, 2)], [B2, real(4)]),
    *calls("mm", [real(2, 3), real(3, 4)], [cplx(2, 3), cplx(3, 2)], [ints(2, 3), ints(3, 2)], [real(3, 2).T, real(2, 3).T]),
    *calls("bmm", [B2, B3], [cplx(2, 2, 3), cplx(2, 3, 2)]),
    *calls("mv", [real(2, 3), real(3)], [cplx(2, 3), cplx(3)]),
    *calls("dot vdot inner", [real(3), real(3, start=1)], [cplx(3), cplx(3, start=1)], [ints(3), ints(3, start=1)]),
    *calls("inner", [real(2, 3), real(4, 3)], [real(3), real(2, 3)], [real(), real(3)]),
    *calls("outer ger", [real(2), real(3)], [cplx(2), cplx(3)]),
    *calls("addmm", [real(2, 4), real(2, 3), real(3, 4)], [real(4), real(2, 3), real(3, 4), {"beta": 0.5, "alpha": 2}],
           [cplx(2, 2), cplx(2, 3), cplx(3, 2), {"alpha": 1j, "beta": 2 - 1j}]),
    *calls("addmv", [real(2), real(2, 3), real(3)], [real(2), real(2, 3), real(3), {"beta": 0.5, "alpha": 2}],
           [cplx(2), cplx(2, 3), cplx(3), {"alpha": 2j}], [real(1), real(2, 3), real(3)]),
    *calls("baddbmm", [real(2, 3, 3), B2, B3], [real(3), B2, B3, {"beta": 0.5, "alpha": 2}]),
    *calls("addbmm", [real(3, 3), B2, B3], [real(3, 3), B2, B3, {"beta": 0.5, "alpha": 2}]),
    *calls("addr", [real(2, 3), real(2), real(3)], [real(2, 3), real(2), real(3), {"beta": 0.5, "alpha": 2}]),
    *calls("kron", [real(2, 2), real(3)], [real(2), real(2, 3)], [cplx(2, 2), cplx(1, 2)]),
    *calls("tensordot", [real(2, 3), real(3, 4), 1], [real(2, 3), real(2, 3), 2], [real(2, 3, 4), real(4, 2), ([0, 2], [1, 0])],
           [real(2), real(3), 0]),
    *calls("cross", [real(2, 3), real(2, 3, start=1)], [real(3, 2), real(3, 2, start=1), 0], [cplx(3), cplx(3, start=1)]),
    *calls("linalg.cross", [real(2, 3), real(2, 3, start=1)], [real(1, 3), real(2, 3, start=1)],
           [real(3, 2), real(3, 2, start=1), {"dim": 0}]),
    *calls("linalg.vecdot", [real(2, 3), real(2, 3, start=1)], [cplx(2, 3), cplx(2, 3, start=1), {"dim": 0}]),
    *calls("trace", [real(3, 3)], [real(2, 4)], [cplx(2, 2)], [ints(3, 3)]),
    *calls("linalg.multi_dot", [[real(2, 3), real(3, 4)]], [[real(2, 3), real(3, 4), real(4, 2)]],
           [[real(3), real(3, 4), real(4)]], [[real(2, 3), real(3, 4), real(4, 1), real(1, 5)]]),
    *calls("chain_matmul", [real(2, 3), real(3, 4), real(4, 2)]),
    *calls("linalg.diagonal", [real(2, 3, 3)], [real(3, 4), {"offset": 1}]),
    *[
        Sample("einsum", (equation, *operands), note=equation, variants=equation == "ij,jk->ik")
        for equation, operands in {
            "ij,jk->ik": (real(2, 3), real(3, 2)), "ij,j": (real(2, 3), real(3)), "ij->ji": (real(2, 3),),
            "ij->": (real(2, 3),), "ii": (real(3, 3),), "ii->i": (real(3, 3),), "i,j->ij": (real(2), real(3)),
            "i,i": (real(3), real(3, start=1)), "bij,bjk->bik": (B2, B3), "...ij,...jk->...ik": (B2, B3),
            "...ij,jk": (B2, real(4, 2)), "ij,ij->ij": (real(2, 3), real(2, 3, start=1)), "ij,kl->": (real(2, 2), real(2, 3)),
            "ij,jk,kl->il": (real(2, 3), real(3, 2), real(2, 2)), "bn,anm,bm->ba": (real(2, 3), real(4, 3, 2), real(2, 2)),
            "iij->ij": (real(2, 2, 3),), "ijk->kij": (real(2, 3, 2),), "ij,jk->ki": (cplx(2, 3), cplx(3, 2)), "i->": (real(3),),
            "ik,jk->ij": (real(2, 3), real(1, 3)), "ij,i->j": (real(2, 0), real(2)),
        }.items()
    ],
    program("einsum of lists", lambda torch, a, b: torch.einsum(a, [0, 1], b, [1, 2], [0, 2]), real(2, 3), real(3, 2), node=True),
    program("sparse.addmm", lambda torch, a, b, c: torch.sparse.addmm(a, b, c, beta=0.5, alpha=2), real(2, 2), real(2, 3),
            real(3, 2), node=True),
    program("addmm_", lambda torch, a, b, c: (a * 1).addmm_(b, c), real(2, 2), real(2, 3), real(3, 2), node=True),
]  # fmt: skip

SYSTEMS = [
    *calls("linalg.solve", [good(3, 3), real(3, 2)], [good(3, 3), real(3)], [good(2, 3, 3), real(2, 3, 2)],
           [good(2, 3, 3), real(2, 3)], [good(3, 3), real(2, 3), {"left": False}], [good(2, 3, 3), real(3, 2)],
           [good_complex(2, 2), cplx(2, 3)]),
    *calls("linalg.solve_triangular", [good(3, 3), real(3, 2), {"upper": True}], [good(3, 3), real(3, 2), {"upper": False}],
           [good(2, 3, 3), real(2, 3, 2), {"upper": True, "unitriangular": True}],
           [good(3, 3), real(2, 3), {"upper": False, "left": False}], [good_complex(2, 2), cplx(2, 3), {"upper": True}],
           [good(9, 9), real(9, 2), {"upper": True}]),
    *calls("triangular_solve", [real(3, 2), good(3, 3)], [real(3, 2), good(3, 3), False, True],
           forward=False),  # torch's tangent also reads the other triangle
    *calls("linalg.inv inverse", [good(3, 3)], [good(2, 2, 2)], [good_complex(2, 2)], [np.zeros((0, 0))]),
    *calls("linalg.inv_ex", [good(3, 3)]),
    *calls("linalg.pinv", [real(3, 2)], [real(2, 3)], [good(3, 3)], [real(2, 3, 2)], [cplx(3, 2)], [cplx(2, 3)]),
    *calls("pinverse", [real(3, 2)]),
    program("pinv of hermitian ones", lambda torch, a: torch.linalg.pinv(a + a.mT, hermitian=True), good(3, 3), node=True),
    program("lstsq", lambda torch, a, b: torch.linalg.lstsq(a, b)[0], real(4, 2), real(4, 3), node=True),
    program("lstsq of wide ones", lambda torch, a, b: torch.linalg.lstsq(a, b).solution, real(2, 3), real(2, 1), node=True),
    *calls("linalg.tensorsolve", [good(4, 4).reshape(2, 2, 4), real(2, 2)]),
    *calls("linalg.tensorinv", [good(4, 4).reshape(2, 2, 4), {"ind": 2}],
           [good(4, 4).reshape(4, 2, 2), {"ind": 1}], node=False),
    *calls("det linalg.det", [good(3, 3)], [real(2, 2, 2)], [good_complex(2, 2)], [np.zeros((0, 0))]),
    *calls("det", [np.array([[1.0, 2.0], [2.0, 4.0]])], [np.array([[1.0, 2.0, 0.5], [2.0, 4.0, 1.0], [0.3, 0.1, 1.5]])],
           note="singular", grad=False),  # torch gives zeros
    *calls("slogdet linalg.slogdet", [good(3, 3)], [real(2, 2, 2)], [good_complex(2, 2)]),
    *calls("logdet", [definite(real(3, 3))], [np.array([[0.0, 1.0], [1.0, 0.0]])]),
]  # fmt: skip

FACTORS = [
    *calls("linalg.cholesky cholesky", [definite(real(3, 3))], [definite(real(2, 2, 2))], [definite(cplx(2, 2))]),
    *calls("linalg.cholesky", [definite(real(3, 3)), {"upper": True}]),
    *calls("linalg.cholesky_ex", [definite(real(3, 3))]),
    *calls("cholesky_solve", [real(3, 2), np.tril(good(3, 3))], [real(3, 2), np.triu(good(3, 3)), True]),
    *calls("cholesky_inverse", [np.tril(good(3, 3))], [np.triu(good(3, 3)), True],
           forward=False, variants=False),  # torch's tangent agrees with no finite differences
    program("cholesky_inverse of a triangle", lambda torch, a: torch.cholesky_inverse(torch.tril(a)), good(3, 3),
            forward=False, numeric=True),
    program("cholesky_inverse of an upper triangle", lambda torch, a: torch.cholesky_inverse(torch.triu(a), True),
            good(2, 3, 3), forward=False, numeric=True),
    *calls("linalg.lu", [real(3, 3)], [real(2, 3, 2)], [real(2, 3)], [cplx(2, 2)]),
    *calls("linalg.lu_factor linalg.lu_factor_ex lu", [real(3, 3)], [real(2, 3, 2)], [real(2, 3)], [cplx(2, 2)]),
    program("lu_unpack", lambda torch, a: torch.lu_unpack(*torch.linalg.lu_factor(a)), real(3, 3), node=True),
    program("lu_unpack of wide ones", lambda torch, a: torch.lu_unpack(*torch.linalg.lu_factor(a)), real(2, 3), node=True),
    program("lu_unpack of tall ones", lambda torch, a: torch.lu_unpack(*torch.linalg.lu_factor(a)), real(3, 2), node=True),
    *[
        program(f"lu_solve {left} {adjoint}", _solved_by_factors, good_complex(2, 2), b, left, adjoint)
        for left, b in ((True, cplx(2, 3)), (False, cplx(3, 2)))
        for adjoint in (False, True)
    ],
    program("old lu_solve", lambda torch, a, b: torch.lu_solve(b, *torch.linalg.lu_factor(a)), good(3, 3), real(3, 2)),
    *calls("linalg.householder_product orgqr", [np.tril(real(4, 3), -1), real(3)], [np.tril(real(3, 3), -1), real(2)],
           node=False, forward=False),
    *calls("ormqr", [Const(np.tril(real(4, 3), -1)), Const(real(3)), real(4, 2)],
           [Const(np.tril(real(4, 3), -1)), Const(real(3)), real(2, 4), False, True], node=False, second=False),
    *calls("geqrf", [Const(real(4, 3))], grad=False),
    *calls("linalg.qr qr", [real(3, 3)], [real(4, 2)], [real(2, 3)], [real(2, 3, 2)]),
    *calls("linalg.qr", [real(3, 3), "complete"], [cplx(3, 2)], [cplx(2, 3)]),
    *[
        program(f"sizes of singular vectors {i}", _sizes_of_singular_vectors, a, full)
        for i, (a, full) in enumerate([(real(3, 3), True), (real(3, 2), True), (real(2, 3), False), (real(2, 3, 2), False),
                                       (cplx(3, 2), False), (cplx(2, 3), False), (cplx(2, 2), True)])
    ],
    program("old svd", lambda torch, a: [t.abs() for t in torch.svd(a)], real(2, 3)),
    *calls("linalg.svdvals", [real(3, 2)], [real(2, 2, 3)], [cplx(3, 2)]),
    *[
        program(f"sizes of hermitian eigenvectors {i}", _sizes_of_eigenvectors, a, side)
        for i, (a, side) in enumerate([(hermitian(real(3, 3)), "L"), (hermitian(real(2, 2, 2)), "L"),
                                       (hermitian(real(3, 3)), "U"), (hermitian(cplx(3, 3)), "L")])
    ],
    *calls("linalg.eigvalsh", [hermitian(real(3, 3))], [hermitian(cplx(2, 2))]),
    *calls("linalg.eigvals", [real(3, 3)], [real(2, 2, 2)], [cplx(2, 2)]),
    program("sizes of eigenvectors", lambda torch, a: torch.linalg.eig(a)[1].abs(), real(3, 3)),
    program("complex low rank", lambda torch, a: _rebuilt(torch, a), cplx(2, 3)),
    *calls("linalg.matrix_exp matrix_exp", [real(3, 3)], [real(2, 2, 2) * 3], [cplx(2, 2)], [np.zeros((2, 2))],
           variants=False),  # torch overflows in float16
    *calls("linalg.matrix_power matrix_power", *[[good(2, 2), n] for n in (0, 1, 2, 3, 5, -1, -2)]),
    *calls("linalg.cond", [good(3, 3)], [real(3, 2)], [good(3, 3), -2], [good(2, 3, 3), "nuc"]),
    *calls("linalg.cond", [good(3, 3), 1], [good(3, 3), "fro"], [good(3, 3), INF], note="by the inverse",
           grad=False),  # torch writes over what its own backward needs
    *calls("linalg.matrix_rank", [Const(real(3, 2))], [Const(np.ones((2, 3, 3)))], [Const(np.eye(3)), {"hermitian": True}],
           grad=False),
]  # fmt: skip

LOW = real(2, 4, 4) * (1 - np.eye(4))
INDEFINITE = [
    *calls("linalg.ldl_factor linalg.ldl_factor_ex", [Const(real(4, 4))], [Const(LOW)], [Const(cplx(3, 3))],
           [Const(cplx(3, 3)), {"hermitian": True}], [Const(np.zeros((0, 2, 2)))], grad=False, variants=False),
    *[program("linalg.ldl_solve", lambda t, a, b, hermitian=h: t.linalg.ldl_solve(
        *t.linalg.ldl_factor_ex(a, hermitian=hermitian)[:2], b, hermitian=hermitian), Const(a), Const(b), grad=False)
      for h in (False, True) for a, b in ((LOW, real(4, 3)), (cplx(3, 3), cplx(2, 3, 1)), (real(5, 5), real(5, 1)))],
]  # fmt: skip


SAMPLES: list[Sample] = [*PRODUCTS, *SYSTEMS, *FACTORS, *INDEFINITE]
