"""Samples of views, of joining and of names that torch has outside of ``nn.functional``, as plain calls."""

from __future__ import annotations

import numpy as np
from op_samples import Const, Dtype, Sample, calls, cplx, ints, real

SQUARE = real(3, 3) + 3 * np.eye(3)

SAMPLES: list[Sample] = [
    # -- views
    *calls("reshape", (real(2, 6), (3, 4)), (real(2, 6), (-1,)), (real(2, 3).T, (6,)), (real(2, 3), [3, -1]), node=False),
    *calls("_neg_view", (real(2, 3),), (cplx(2, 3),)),
    *calls("permute", (real(2, 3, 4), (2, 0, 1)), (real(2, 3, 4), [-1, 0, 1])),
    *calls("transpose swapaxes swapdims", (real(2, 3, 4), 0, -1), (real(2, 3), 0, 1)),
    *calls("movedim moveaxis", (real(2, 3, 4), 0, -1), (real(2, 3, 4), (0, 1), (2, 0))),
    *calls("t", (real(2, 3),), (real(3),), node=False),
    *calls("squeeze", (real(1, 3, 1),), (real(1, 3, 1), 0), (real(1, 3, 1), 1), (real(1, 3, 1), (0, -1))),
    *calls("unsqueeze", (real(2, 3), 1), (real(2, 3), -1), (real(), 0)),
    *calls("narrow", (real(4, 3), 0, 1, 2), (real(4, 3), -1, -2, 1), (real(4, 3), 0, Const(np.array(1)), 2)),
    *calls("select", (real(4, 3), 0, 1), (real(4, 3), -1, -2)),
    *calls("diagonal", (real(3, 4),), (real(3, 4), 1), (real(2, 3, 4), -1, 0, 2), (real(3, 4), {"offset": -1})),
    *calls("unbind", (real(2, 3),), (real(2, 3), -1)),
    *calls("flatten", (real(2, 3, 4),), (real(2, 3, 4), 1), (real(2, 3, 4), 0, -2), (real(),), node=False),
    *calls("ravel", (real(2, 3),), (real(2, 3).T,), node=False),
    *calls("broadcast_to", (real(3, 1), (2, 3, 4)), (real(1), [3])),
    *calls("as_strided", (real(6), (2, 2), (2, 1)), (real(3, 4), (3,), (5,), 1)),
    *calls("tensor_split", (real(5, 2), 2), (real(5, 2), (1, 4)), (real(5, 4), 3, 1), (real(5), Const(np.array([2, 3])))),
    *calls("split_with_sizes", (real(5, 2), [2, 3]), (real(5, 4), (1, 3), -1)),
    *calls("split", (real(5, 2), 2), (real(5, 2), [2, 3]), (real(2, 5), 3, 1)),
    *calls("chunk", (real(5, 2), 2), (real(2, 5), 3, -1)),
    *calls("clone detach", (real(2, 3),), (real(2, 3).T,), node=False),
    *calls("resolve_neg resolve_conj", (cplx(2, 3),), node=False),
    # -- joining
    *calls("cat concat concatenate", ([real(2, 3), real(1, 3)],), ([real(2, 3), real(2, 1)], 1), ([real(2), real(3)], {"dim": -1})),
    *calls("stack", ([real(2, 3), real(2, 3)],), ([real(2, 3), real(2, 3)], -1), ([real(), real()],)),
    # -- made of others
    *calls("full_like", (real(2, 3), 2.5), (ints(2, 3), 2.0), grad=False),
    *calls("ones_like zeros_like", (real(2, 3),), (real(2, 3).T, {"dtype": Dtype("int64")}), grad=False),
    *calls("result_type", (real(2), ints(2)), grad=False, variants=False, node=False),
    *calls("equal", (real(2), real(2)), (real(2), real(2, start=1)), grad=False, variants=False),
    *calls("allclose", (real(2), real(2)), (real(2), real(2, start=1), 10.0), grad=False, variants=False),
    *calls("numel is_complex is_floating_point", (real(2, 3),), (cplx(2),), (ints(2),), grad=False, variants=False),
    # -- made of numbers
    *calls("arange", (5,), (1, 6, 2), (0.5, 2.0, 0.5), (3, {"dtype": Dtype("float64")}), grad=False, variants=False),
    *calls("linspace", (0, 1, 5), (-1.5, 2.0, {"steps": 4, "dtype": Dtype("float64")}), grad=False, variants=False),
    *calls("logspace", (0, 1, 5), (0, 3, 4, 2.0), grad=False, variants=False),
    *calls("eye", (3,), (2, 4), (3, {"dtype": Dtype("int64")}), grad=False, variants=False),
    *calls("full", ((2, 3), 1.5), ([2], 3), ((), True), grad=False, variants=False),
    *calls("zeros ones", (2, 3), ((2, 3),), ([2],), ((0, 2), {"dtype": Dtype("bool")}), grad=False, variants=False),
    *calls("scalar_tensor", (2.5,), (2, {"dtype": Dtype("int64")}), grad=False, variants=False),
    # -- networks outside of nn.functional
    *calls("conv1d", (real(2, 2, 5), real(3, 2, 3), real(3)), (real(2, 2, 5), real(3, 2, 3), None, 2, 1), (real(2, 2, 5), real(4, 1, 3), None, 1, "same", 1, 2),
           node=False, variants=False),
    *calls("conv2d", (real(1, 2, 4, 5), real(3, 2, 2, 3), real(3)), (real(2, 4, 5), real(3, 2, 2, 3), None, (1, 2), (1, 0), 2), node=False, variants=False),
    *calls("conv3d", (real(1, 2, 3, 4, 3), real(3, 2, 2, 2, 2), real(3)), node=False, variants=False),
    *calls("conv_transpose1d", (real(2, 2, 4), real(2, 3, 3), real(3), 2, 1, 1), node=False, variants=False),
    *calls("conv_transpose2d", (real(1, 2, 3, 4), real(2, 3, 2, 3), None, 2, 0, 1), node=False, variants=False),
    *calls("convolution", (real(1, 2, 4, 5), real(3, 2, 2, 3), real(3), [1, 1], [0, 0], [1, 1], False, [0, 0], 1), variants=False),
    *calls("max_pool1d max_pool1d_with_indices", (real(2, 3, 7), 2), (real(2, 3, 7), 3, 2, 1), node=False, variants=False),
    *calls("max_pool2d", (real(1, 2, 4, 5), 2), (real(1, 2, 4, 5), (2, 3), 1, 1, 1, True), node=False, variants=False),
    *calls("max_pool3d", (real(1, 2, 4, 4, 4), 2), node=False, variants=False),
    *calls("avg_pool1d", (real(2, 3, 7), 3, 2, 1), (real(2, 3, 7), 2, None, 0, True, False), node=False, variants=False),
    *calls("adaptive_avg_pool1d", (real(2, 3, 7), 3), node=False, variants=False),
    *calls("affine_grid_generator", (real(2, 2, 3), (2, 1, 3, 4), True), (real(2, 2, 3), [2, 1, 3, 4], False), variants=False),
    *calls("instance_norm", (real(2, 3, 4), real(3), real(3), None, None, True, 0.1, 1e-5, False), node=False, variants=False),
    *calls("native_group_norm", (real(2, 4, 3), real(4), real(4), 2, 4, 3, 2, 1e-5), variants=False, node=False),
    *calls("rms_norm", (real(2, 4), (4,), real(4), 1e-5), node=False, variants=False),
    *calls("native_channel_shuffle", (real(1, 4, 2, 2), 2), node=False, variants=False, grad=False),
    *calls("nn.functional.channel_shuffle", (real(1, 4, 2, 2), 2), node=False, variants=False),
    *calls("embedding_bag", (real(5, 3), ints(6, lo=0, hi=5), Const(np.array([0, 2, 4]))), node=False, variants=False, second=False, forward=False),
    *calls("linalg.solve_ex", (SQUARE, real(3, 2)), (SQUARE, real(3)), (SQUARE, real(2, 3), {"left": False}), variants=False),
]  # fmt: skip
