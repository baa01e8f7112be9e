"""``ops.aten``: backward operators, and others that programs with dispatch modes call, in values and derivatives."""

from __future__ import annotations

from typing import Any

import pytest
from both_engines import assert_agree

import retrograd

DERIVABLE = """
hardswish_backward(g, x)
glu_backward(g[:, :2], x, -1)
glu_backward(g[:1], x[:2], 0)
softplus_backward(g, x, 2., 20.)
softplus_backward(g, x, beta=1, threshold=0.5)
gelu_backward(g, x)
gelu_backward(g, x, approximate="tanh")
log_sigmoid_backward(g, x, A.log_sigmoid_forward(x)[1])
elu_backward(g, 1.5, 1., 1., False, x)
elu_backward(g, 1.5, 2., .5, True, x)
native_dropout_backward(g, x > 0, 2.)
mse_loss_backward(g, x, y, 0)
mse_loss_backward(g.sum(), x, y, 2)
huber_loss_backward(g.sum(), x, y, 1, .7)
smooth_l1_loss_backward(g.sum(), x, y, 1, .7)
binary_cross_entropy_backward(g, x.sigmoid(), y.sigmoid(), None, 0)
binary_cross_entropy_backward(g.sum(), x.sigmoid(), y.sigmoid())
nll_loss_backward(g[:, 0], x, t, None, 0, -100, A.nll_loss_forward(x, t, None, 0, -100)[1])
nll_loss_backward(g.sum(), x, t, None, 1, 2, A.nll_loss_forward(x, t, None, 1, 2)[1])
embedding_dense_backward(g, t, 6, -1, False)
embedding_dense_backward(g, t, 6, 2, True)
masked_scatter_backward(g, y > 0, [3, 5])
convolution_backward(g[None], x[None], k, [3], [1], [1], [1], False, [0], 1, [True, True, True])
convolution_backward(g[None], x[None], k, None, [1], [1], [1], False, [0], 1, [False, True, False])[1]
convolution_backward(g[None], x[None], k, [3], [1], [1], [1], True, [0], 1, [True, True, True])
native_layer_norm_backward(g, x, [4], *A.native_layer_norm(x, [4], y[0], y[1], 1e-3)[1:], y[0], y[1], [True, True, True])
native_layer_norm_backward(g, x, [3, 4], *A.native_layer_norm(x, [3, 4], None, None, 1e-3)[1:], None, None, [True, False, False])[0]
native_batch_norm_backward(g, x, y[0], None, None, *A.native_batch_norm(x, y[0], y[1], None, None, True, .1, 1e-3)[1:], True, 1e-3, [True, True, True])
max_pool2d_with_indices_backward(g[None, :2, :2], x[None], [2, 2], [1, 2], [0, 0], [1, 1], False, N.max_pool2d(x[None], [2, 2], [1, 2], return_indices=True)[1])
max_pool3d_with_indices_backward(g[None, None, :2, :2], x[None, None], [1, 2, 2], [1, 1, 2], [0, 0, 0], [1, 1, 1], False, N.max_pool3d(x[None, None], [1, 2, 2], [1, 1, 2], return_indices=True)[1])
adaptive_max_pool2d_backward(g[None, :2, :2], x[None], N.adaptive_max_pool2d(x[None], [2, 2], return_indices=True)[1])
adaptive_max_pool3d_backward(g[None, None, :2, :2], x[None, None], N.adaptive_max_pool3d(x[None, None], [1, 2, 2], return_indices=True)[1])
grid_sampler_2d_backward(g[None, None, :2, :2], x[None, None], y[:2].reshape(1, 2, 2, 2), 0, 0, False, [True, True])
grid_sampler_2d_backward(g[None, None, :2, :2], x[None, None], y[:2].reshape(1, 2, 2, 2), 1, 1, True, [True, True])[0]
""".strip().splitlines()  # noqa: E501
"""Operators whose derivatives PyTorch knows, with respect to all that is given here."""

PLAIN = """
silu_backward(g, x)
mish_backward(g, x)
hardsigmoid_backward(g, x)
logit_backward(g, x.sigmoid())
logit_backward(g, x.sigmoid(), 1e-3)
logit_backward(g, x.sigmoid(), eps=0.3)
rrelu_with_noise_backward(g, x, y.abs(), .1, .3, True, False)
rrelu_with_noise_backward(g, x, y.abs(), .1, .3, False, False)
soft_margin_loss_backward(g, x, y, 0)
soft_margin_loss_backward(g.sum(), x, y, 1)
binary_cross_entropy_backward(g.sum(), x.sigmoid(), y.sigmoid(), y.abs(), reduction=2)
nll_loss_backward(g.sum(), x, t, y[0].abs(), 1, -100, A.nll_loss_forward(x, t, y[0].abs(), 1, -100)[1])
nll_loss2d_backward(g.sum(), x[None, :, :, None], t[[0, 1, 2, 0]][None, :, None] - 1, None, 2, -100, y.sum())
native_group_norm_backward(g[None], x[None], *A.native_group_norm(x[None], y[0, :3], y[1, :3], 1, 3, 4, 3, 1e-3)[1:], y[0, :3], 1, 3, 4, 3, [True, True, True])
native_batch_norm_backward(g, x, y[0], y[1], y[2].abs(), None, None, False, 1e-3, [True, True, True])
""".strip().splitlines()  # noqa: E501


@pytest.mark.parametrize("call", DERIVABLE + PLAIN)
def test_a_backward_operator(call: str) -> None:
    """Its values, and the gradients of all that it was given, as PyTorch's."""

    def program(torch: Any) -> Any:
        def wave(rows: int, columns: int, step: float) -> Any:
            made = torch.arange(float(rows * columns), dtype=torch.float64).mul(step).add(0.3).sin() * 1.7
            return made.reshape(rows, columns).requires_grad_(call in DERIVABLE)

        g, x, y, w = wave(3, 4, 1.1), wave(3, 4, 0.7), wave(3, 4, 1.9), wave(4, 2, 0.4)
        k = wave(9, 3, 0.8).reshape(3, 3, 3)
        names = {"g": g, "x": x, "y": y, "w": w, "k": k, "t": torch.tensor([1, 2, 2]), "A": torch.ops.aten,
                 "N": torch.nn.functional}  # fmt: skip
        found = eval(f"A.{call}", names)
        results = [r for r in (found if isinstance(found, (tuple, list)) else [found]) if r is not None]
        moving = [r for r in results if r.requires_grad]
        total = sum(((r * r.detach().cos()).sum() for r in moving), torch.zeros(()))
        slopes = torch.autograd.grad(total, [g, x, y, w], allow_unused=True) if moving else ()
        nothing = torch.zeros((), dtype=torch.float64)
        return [r.detach() for r in results], [nothing if s is None or not s.any() else s for s in slopes]

    assert_agree(program)


@pytest.mark.parametrize("call", PLAIN)
def test_derivatives_that_pytorch_lacks(call: str) -> None:
    """They agree with finite differences here."""
    engine = retrograd
    g, x = (engine.arange(12.0, dtype=engine.float64).mul(s).add(0.3).sin().reshape(3, 4) for s in (1.1, 0.7))
    y = engine.arange(12.0, dtype=engine.float64).cos().reshape(3, 4)
    names = {"y": y, "t": engine.tensor([1, 2, 2]), "A": engine.ops.aten}

    def of(g: Any, x: Any) -> Any:
        found = eval(f"A.{call}", {**names, "g": g, "x": x.mul(0.9)})
        return tuple(found) if isinstance(found, tuple) else found

    assert engine.autograd.gradcheck(of, (g.requires_grad_(), x.requires_grad_()))


FUNCTIONAL = """
A.unique_dim(n, 0), A.unique_dim(n.reshape(2, 2), 1, True, True, True)
A.multilabel_margin_loss_forward(x[:2, :3], torch.tensor([[0, -1, 1], [2, 1, -1]]), 1)
A.rrelu_with_noise_functional(x, x * 0 + 5, .1, .3, True), A.rrelu_with_noise(x, x * 0, .1, .3)
A.rrelu_with_noise(x, filled, .1, .3, True), filled
A.sym_size(x), A.sym_size.int(x, 1), A.sym_stride(x), A.sym_stride.int(x, 0), A.sym_numel(x)
A.sym_storage_offset(x[1:])
list(A.size.default(x)), A.size.int(x, 0), A.stride.int(x, 0), A.storage_offset(x[1:]), A.dim(x), A.is_contiguous(x.t())
A.nonzero_numpy(n - 1), A.nonzero_numpy(torch.tensor(3)), A.item(n[0]), A.is_pinned(x)
A.nll_loss2d_forward(image, classes, None, 1, 2), A.nll_loss2d_forward(image, classes, n[:3].double(), 2, -100)
A.nll_loss2d_forward(image, classes, None, 0, -100)
A.uniform(x), A.exponential(x, 2.), A.geometric(x, .3), A.log_normal(x), A.cauchy(x, 1., 2.)
A.normal_(x.clone(), 1., 2.), A.uniform_(x.clone()), A.bernoulli_.float(x.clone(), .3), A.exponential_(x.clone())
A.new_empty_strided(x, [2, 2], [1, 2]).stride(), A.resize(x, [2]), A.resize_as(x, n), A.lift_fresh(x) is x, A.lift(x)
A.lift_fresh_copy(x), A.divide_(x.clone(), 2), A.divide_.Tensor_mode(x.clone(), filled + 1, rounding_mode="floor")
A.true_divide_(x.clone(), 3), A.float_power_(x.clone(), 2), A.to.dtype(x, torch.float32), A.contiguous(x.t())
""".strip().splitlines()


@pytest.mark.parametrize("calls", FUNCTIONAL)
def test_operators_that_are_no_public_functions(calls: str) -> None:
    """Their results are PyTorch's, and so are the numbers that they draw."""

    def program(torch: Any) -> Any:
        torch.manual_seed(5)
        x = torch.arange(12.0, dtype=torch.float64).sin().reshape(3, 4)
        names = {"torch": torch, "A": torch.ops.aten, "x": x, "n": torch.tensor([3, 1, 3, 2]), "filled": x.abs() + 1,
                 "image": x[:, :2].reshape(1, 3, 2, 1), "classes": torch.tensor([[[0], [2]]])}  # fmt: skip
        return eval(calls, names)

    assert_agree(program)
