"""Samples of overloads and arguments that the families' own samples leave out: one for each that PyTorch declares."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Dtype, Sample, binary, bools, calls, cplx, ints, real, unary

SQUARE = real(3, 3) + 3 * np.eye(3)
SYMMETRIC = SQUARE + SQUARE.T
POSITIVE = SQUARE @ SQUARE.T + np.eye(3)
CUBE = real(6, 6) + 4 * np.eye(6)

SAMPLES: list[Sample] = [
    # -- element by element
    *calls("bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift",
           (ints(2, 3, lo=0, hi=5), 2), (2, ints(3, lo=0, hi=4)), grad=False, variants=False),
    *calls("divide multiply true_divide", (real(2, 3), 2.5), (real(2, 3), -2)),
    *calls("divide", (real(2, 3), real(3, lo=1, start=1), {"rounding_mode": "floor"}),
           (real(2, 3), 0.7, {"rounding_mode": "trunc"})),
    *calls("subtract rsub", (real(2, 3), real(3, start=1), {"alpha": 2})),
    *calls("subtract", (real(2, 3), 1.5), (real(2, 3), 1.5, {"alpha": 2})),
    *calls("remainder", (2.5, real(2, 3, lo=0.4)), variants=False, node=False, grad=False),
    *calls("special.zeta", (real(2, 3, lo=1.2, hi=3), 1.7), (1.7, real(2, 3, lo=1.2, hi=3)), variants=False, grad=False,
           second=False, forward=False),
    *calls("special.xlogy special.xlog1py", (real(2, 3, lo=1.2, hi=3), 1.7), (1.7, real(2, 3, lo=1.2, hi=3)),
           variants=False),
    *calls("special.logit", (real(2, 3, lo=0.1, hi=0.9), 0.2), (real(2, 3, lo=0.1, hi=0.9), {"eps": 1e-3})),
    *calls("celu", (real(2, 3), 0.7), (real(2, 3), {"alpha": 2.0}), rtol=1e-6),  # torch divides by alpha as float32
    *calls("hardshrink", (real(2, 3), 0.3), (real(2, 3), {"lambd": 1.0})),
    *calls("where", (bools(2, 3), real(2, 3), 0.5), (bools(2, 3), 0.5, real(2, 3)), variants=False),
    *unary("absolute arctan arcsinh negative"),
    *unary("arccos arcsin arctanh", lo=-0.9, hi=0.9),
    *unary("arccosh", lo=1.1, hi=3.0),
    *unary("fix", grad=False),
    *binary("arctan2"),
    *binary("greater less greater_equal less_equal not_equal", grad=False),
    # -- reductions
    *calls("std_mean var_mean", (real(2, 3), False), (real(2, 3), {"dim": 1, "unbiased": False, "keepdim": True})),
    *calls("std var", (real(2, 3), False), (real(2, 3), 1, False, True)),
    *calls("special.logsumexp", (real(2, 3), 1, True), (real(2, 3), (0, 1), {"keepdim": True})),
    *calls("nanquantile", (real(2, 4), Const(np.array([0.2, 0.7])), 1, True),
           (real(2, 4), 0.3, {"dim": 1, "keepdim": True, "interpolation": "higher"})),
    *calls("nuclear_norm", (real(2, 3, 4), (0, 2), True), (real(3, 3), {"keepdim": True})),
    *calls("frobenius_norm", (real(2, 3), 1, True), node=False),
    *calls("linalg.norm", (real(2, 3), 2, {"dim": 1, "keepdim": True}), (real(2, 3), {"keepdim": True})),
    *calls("topk", (real(2, 5), 3, 1, True, True), (real(2, 5), 3, {"dim": 1, "largest": False, "sorted": True})),
    *calls("segment_reduce", (real(3, 4), "sum", {"lengths": Const(ints(3, 2, lo=2, hi=3)), "axis": 1, "unsafe": True}),
           node=False),
    *calls("isin", (2, ints(5)), (ints(4), ints(3), {"assume_unique": True}), grad=False, variants=False),
    *calls("bucketize", (0.3, real(4, lo=0.0)), (real(3), Const(np.sort(real(4))), {"out_int32": True}), grad=False,
           variants=False),
    *calls("gradient", (real(3, 4), {"dim": [0, 1]}), (real(3, 4), {"spacing": [0.5, 2.0], "dim": [0, 1]}),
           (real(3, 4), {"spacing": 0.5, "dim": [1], "edge_order": 2}),
           (real(3, 4), {"spacing": [Const(np.array([0.0, 1.0, 3.0])), Const(np.array([0.0, 0.5, 1.0, 2.0]))], "dim": [0, 1]}),
           node=False, variants=False),
    # -- linear algebra
    *calls("addbmm", tuple(ints(*s).astype(np.int32) for s in ((3, 3), (2, 3, 4), (2, 4, 3))), grad=False),
    *calls("cholesky", (POSITIVE, True), (POSITIVE, {"upper": False})),
    *calls("linalg.cholesky_ex", (POSITIVE, {"upper": True}), (POSITIVE, {"check_errors": True}), variants=False),
    *calls("linalg.inv_ex", (SQUARE, {"check_errors": True}), variants=False),
    *calls("linalg.lu_factor", (SQUARE, {"pivot": True}), variants=False),
    *calls("linalg.lu_factor_ex", (SQUARE, {"pivot": True, "check_errors": True}), variants=False),
    *calls("linalg.lu", (SQUARE, {"pivot": True}), variants=False),
    *calls("linalg.eigvalsh", (SYMMETRIC, "U"), (SYMMETRIC, {"UPLO": "L"}), variants=False),
    *calls("linalg.diagonal", (real(2, 3, 4), {"dim1": 0, "dim2": 2}), (real(2, 3, 4), {"offset": 1})),
    *calls("linalg.matrix_rank", (real(3, 2), 0.5), (real(3, 3), {"tol": Const(np.array(0.3))}),
           (real(3, 2), {"atol": 0.1, "rtol": 0.2}), (SYMMETRIC, 0.1, True), grad=False, variants=False),
    *calls("linalg.pinv", (real(3, 2), 1e-3), (SYMMETRIC, {"hermitian": True}), (real(3, 2), {"rtol": 1e-4}),
           (real(3, 2), {"atol": 1e-4, "rtol": 1e-5}), (real(2, 3, 2), Const(np.array([1e-3, 1e-2]))), variants=False),
    *calls("pinverse", (real(3, 2), 1e-3)),
    *calls("qr", (real(3, 2), True), variants=False, grad=False),
    *calls("linalg.svdvals", (real(3, 2),), (cplx(2, 3),)),
    *calls("linalg.tensorsolve", (CUBE.reshape(2, 3, 6), real(2, 3)), (CUBE.reshape(6, 2, 3), real(2, 3), {"dims": [0]}), variants=False),
    *calls("triangular_solve", (real(3, 2), SQUARE, {"unitriangular": True}), node=False, variants=False, forward=False),
    *calls("bilinear", (real(2, 3), real(2, 4), real(5, 3, 4), real(5)), variants=False),
    *calls("pairwise_distance", (real(3, 4), real(3, 4, start=1), 1.0, 1e-3, True), node=False),
    *calls("nn.functional.pairwise_distance", (real(3, 4), real(3, 4, start=1), {"eps": 1e-2}), node=False),
    *calls("cosine_similarity nn.functional.cosine_similarity", (real(3, 4), real(3, 4, start=1), 0, 0.1),
           (real(3, 4), real(3, 4, start=1), {"dim": -1, "eps": 3.0}), variants=False),
    # -- networks
    *calls("group_norm", (real(3, 4, 2), 2, real(4), real(4), 0.1, False), node=False, variants=False),
    *calls("layer_norm", (real(3, 4), [4], real(4), real(4), 0.1, False), node=False, variants=False),
    *calls("nn.functional.avg_pool3d", (real(1, 2, 4, 4, 4), 2, {"divisor_override": 3}), variants=False),
    *calls("nn.functional.conv3d", (real(1, 2, 4, 5, 4), real(3, 2, 2, 2, 2), {"dilation": (1, 2, 1)}), variants=False),
    *calls("nn.functional.conv_transpose2d",
           (real(1, 2, 3, 3), real(2, 3, 2, 2), {"dilation": 2, "padding": 1, "stride": 2, "output_padding": 1}),
           variants=False),
    *calls("nn.functional.conv_transpose3d",
           (real(1, 2, 2, 3, 2), real(2, 3, 2, 2, 2), {"dilation": (1, 2, 1), "padding": (0, 1, 0), "stride": 2,
            "output_padding": (1, 1, 1)}), variants=False),
    *calls("nn.functional.embedding", (ints(2, 3, lo=0, hi=5), real(5, 3), {"padding_idx": -1}), variants=False),
    *calls("embedding", (real(5, 3), ints(2, 3, lo=0, hi=5), -1, True, False), variants=False, second=False),
    # -- transforms
    *calls("fft.fftn fft.ifftn", (cplx(2, 3, 4), None, (0, 2), "ortho"), (cplx(2, 3), {"s": (3, 4), "norm": "forward"})),
    *calls("fft.rfftn fft.ihfftn", (real(2, 3, 4), None, (0, 2), "ortho"), (real(2, 3), {"s": (3, 4), "norm": "forward"})),
    *calls("fft.irfftn fft.hfftn", (cplx(2, 3, 4), None, (0, 2), "ortho"), (cplx(2, 3), {"s": (3, 4), "norm": "forward"})),
    # -- shapes and places
    *calls("gather", (real(3, 4), 1, Const(ints(3, 2, lo=0, hi=4)), {"sparse_grad": False})),
    *calls("repeat_interleave", (real(3), Const(np.array([2, 0, 1])), 0, {"output_size": 3}),
           (real(2, 3), 2, {"dim": 1, "output_size": 6}), variants=False, node=False),
    *calls("expand_copy", (real(1, 3), (2, 3), {"implicit": False}), variants=False),
    *calls("view_copy", (real(2, 3), Dtype("int64")), grad=False, variants=False),
]  # fmt: skip
