"""Graphs of layers and of calls in other forms than the samples': PyTorch's, node by node (SPEC row E-1)."""

from __future__ import annotations

from typing import Any

import pytest
from graph_names import graph_of

import retrograd

torch = pytest.importorskip("torch")

CALLS = """
F.cross_entropy(x, p, label_smoothing=0.1)
F.cross_entropy(x, p, torch.ones(4), reduction='none')
F.cross_entropy(x, i, torch.ones(4), label_smoothing=0.1)
F.cross_entropy(x, i, label_smoothing=0.1, reduction='sum')
F.cross_entropy(b, torch.zeros(2, 4, dtype=torch.int64))
F.poisson_nll_loss(x, p * 3, full=True)
x[:2, 1]
x[:, 0:4]
x[:, 0:9]
x[:, -4:]
x[0:3]
x.quantile(0.5, 1)
x.quantile(torch.tensor([0.2, 0.5]), 0, keepdim=True)
x.nanquantile(torch.tensor([0.2, 0.5]))
torch.cov(x, aweights=torch.ones(4))
torch.trapezoid(x, torch.arange(4.0), dim=1)
torch.cumulative_trapezoid(x, dx=0.5)
torch.gradient(x[0], spacing=2.0, edge_order=2)[0]
torch.combinations(x[0], 3, True)
torch.stft(x.flatten(), 4, 1, 2, torch.ones(2), return_complex=True)
torch.istft(torch.stft(x.flatten(), 4, window=torch.ones(4), return_complex=True), 4, window=torch.ones(4))
F.pad(b, (1, 1), mode='circular')
torch.nn.Conv2d(1, 1, 3, padding=1, padding_mode='circular')(b.unsqueeze(1))
torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 2)).weight
torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 2), dim=None).weight
torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(3, 4, 2), dim=1).weight
torch.linalg.lu_solve(*torch.linalg.lu_factor(b), b)
torch.nn.GRU(4, 2, batch_first=True)(b)[0]
torch.nn.LSTM(4, 2, num_layers=2, dtype=torch.float64)(b.double())[0]
torch.nn.LSTMCell(4, 2)(x)[0]
torch.nn.MultiheadAttention(4, 2)(b, b, b)[0]
torch.nn.MultiheadAttention(4, 2)(b, b, b, attn_mask=torch.zeros(2, 2))[0]
torch.nn.MultiheadAttention(4, 2)(b, b, b, need_weights=False)[0]
torch.nn.MultiheadAttention(4, 2, batch_first=True)(b, b * 2, b * 3)[0]
torch.nn.MultiheadAttention(4, 2, bias=False, add_bias_kv=True, add_zero_attn=True)(b, b * 2, b * 3)[0]
torch.nn.TransformerDecoderLayer(4, 2, 8)(b, b)
torch.autograd.grad(torch.softmax(x, -1).sin().sum(), x, create_graph=True)[0]
D.Geometric(x.sigmoid()).log_prob(torch.ones(4))
D.Binomial(3, logits=x).log_prob(torch.ones(4))
D.Multinomial(3, logits=x[0]).log_prob(torch.tensor([1.0, 2.0, 0.0, 0.0]))
D.StudentT(x.exp()).log_prob(p)
D.Gumbel(x, x.exp()).rsample()
D.RelaxedBernoulli(torch.tensor(1.0), logits=x).rsample()
D.RelaxedOneHotCategorical(torch.tensor(1.0), logits=x).rsample()
D.kl_divergence(D.Bernoulli(logits=x), D.Bernoulli(logits=x * 2))
D.kl_divergence(D.Categorical(logits=x), D.Categorical(logits=x * 2))
D.kl_divergence(D.Gamma(x.exp(), p + 1), D.Gamma(p + 1, x.exp()))
D.kl_divergence(D.Beta(x.exp(), p + 1), D.Beta(p + 1, x.exp()))
"""

SECOND_ORDER = """
x.mean() + x.mean(0).sum() | x.std(0) | x.var(0) | x.norm(2, 1) | x.logsumexp(1) | x.nanmean(1) | x ** 3 | x.exp2()
2 ** x | x.expm1() | x.tan() | x.atan() | x.erf() | x.tanh().erfinv() | torch.logaddexp(x, p * x) | x.lerp(x * 2, x)
torch.special.entr(p * x) | torch.addcmul(x, x, p, value=2) | torch.linalg.inv(b) | torch.linalg.pinv(b[0])
torch.linalg.eigh(b)[0] | torch.linalg.cross(x[:, 1:], x[:, :3]) | F.elu(x) | F.selu(x) | F.celu(x, 2.0)
F.elu(x * 1, inplace=True) | F.gelu(x) | F.gelu(x, approximate='tanh') | F.softplus(x) | F.hardswish(x)
F.logsigmoid(x) | F.glu(x) | F.mse_loss(x, p) | F.mse_loss(p, x) | F.mse_loss(x, x * 2) | F.huber_loss(p, x)
F.smooth_l1_loss(x, p, beta=0.5) | F.soft_margin_loss(x, p) | F.pairwise_distance(x, p) | F.cosine_similarity(x, p)
F.binary_cross_entropy(x.sigmoid(), p, torch.ones(3, 4)) | F.layer_norm(x, (4,), x[0], x[1]) | F.layer_norm(x, (4,))
F.batch_norm(b, None, None, b[0, 0], b[0, 1], True) | F.batch_norm(x, torch.zeros(4), torch.ones(4))
F.instance_norm(b) | F.conv1d(b, b[:, :, :2] * 2, b[0, 0, :2]) | F.conv1d(b, torch.ones(4, 1, 2), groups=4)
torch.linalg.solve(b, b * 2) | torch.linalg.solve(b[0], b[0, 0]) | torch.linalg.cholesky(b @ b.mT) | x.square()
torch.linalg.solve_triangular(b, b * 2, upper=True) | torch.where(x > 0, x, x * 2) | x.clamp(-0.5, 0.5) | x.amax(1)
torch.maximum(x, x * x) | x.max() | x.median(1)[0] | x.sort(1)[0] | x.topk(2)[0] | x.kthvalue(2)[0] | x.diff()
x.gather(1, i.view(3, 1)) | x.index_select(0, i) | x.take(i) | x[0].masked_select(p[0] > 0.5) | x.std() | x.var()
torch.stack([x, x * 2]) | torch.mv(x, x[0]) | torch.complex(x, x * 2).abs() | torch.fft.fft(x).real | x.lerp(x * 2, 0.3)
torch.view_as_real(torch.complex(x, x * 2)) | F.poisson_nll_loss(x, p) | F.binary_cross_entropy_with_logits(x, p)
x.tanh().asin() | x.sigmoid().logit() | x[0].index_add(0, i, x[1, :3]) | F.conv_transpose1d(b, b.reshape(4, 2, 4))
F.grid_sample(b.unsqueeze(1), b[:, :2].reshape(2, 2, 2, 2), align_corners=False) | F.silu(x) | torch.hypot(x, p)
F.rms_norm(x, (4,)) | x.exp().rsqrt()
x * b[0, 0, 0] | x * x.sum() | torch.xlogy(p, x.exp()) | torch.xlogy(x, p) | F.kl_div(x, p) | x.repeat(2, 3)
x.repeat(2, 1, 2) | x.tile(3) | torch.special.xlog1py(x, p)
"""
"""Calls of which the gradient's own graph is compared."""


def made(engine: Any, text: str) -> list[str]:
    """The graph of what an expression gives; of its parameters only that they are leaves."""
    x = engine.arange(12.0).sin().reshape(3, 4).requires_grad_()
    b = (engine.arange(32.0).cos().reshape(2, 4, 4) + 3 * engine.eye(4)).requires_grad_()
    names = {"torch": engine, "F": engine.nn.functional, "x": x, "b": b, "i": engine.tensor([0, 2, 1])}
    names["D"] = engine.distributions
    result = eval(text, {**names, "p": x.detach().abs()})
    return graph_of([result], [x, b])


def derived(engine: Any, text: str) -> list[str]:
    """The graph of the gradients of what an expression gives, by ``g``, the gradient that comes in."""
    x = engine.arange(12.0).sin().reshape(3, 4).requires_grad_()
    b = (engine.arange(32.0).cos().reshape(2, 4, 4) + 3 * engine.eye(4)).requires_grad_()
    names = {"torch": engine, "F": engine.nn.functional, "x": x, "b": b}
    result = eval(text, {**names, "p": x.detach().abs(), "i": engine.tensor([0, 2, 1])})
    g = engine.ones_like(result).requires_grad_()
    found = engine.autograd.grad(result, [x, b], g, create_graph=True, allow_unused=True)
    return graph_of([t for t in found if t is not None], [x, b, g])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", SECOND_ORDER.strip().splitlines())
def test_E_1_graphs_of_second_order_are_those_of_pytorch(line: str) -> None:
    """E-1: the nodes that rules record where a graph is created, backward operators of their own among them."""
    for text in line.split(" | "):
        assert derived(retrograd, text) == derived(torch, text), text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["elu", "gelu", "softplus", "layer_norm", "conv1d", "grid_sample", "glu"])
def test_F_45_backward_operators_have_derivatives_of_any_order(name: str) -> None:
    """F-45: the third derivatives of what is recorded as one node agree with finite differences of the second."""
    F = retrograd.nn.functional  # noqa: N806
    x = retrograd.arange(1.0, 13.0, dtype=retrograd.float64).sin().reshape(1, 2, 6).requires_grad_()

    def second(x: Any) -> Any:
        more = {"layer_norm": [(6,)], "conv1d": [x[:, :, :2]], "grid_sample": [x[:, :1].reshape(1, 1, 3, 2)]}
        y = getattr(F, name)(x.unsqueeze(0) if name == "grid_sample" else x, *more.get(name, []))
        first = retrograd.autograd.grad(y.sin().sum(), x, create_graph=True)[0]
        return retrograd.autograd.grad((first**2).sum(), x, create_graph=True)[0]

    assert retrograd.autograd.gradcheck(second, (x,))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", CALLS.strip().splitlines())
def test_E_1_graphs_are_those_of_pytorch(text: str) -> None:
    """E-1: names of nodes, edges with output numbers, edges that lead nowhere."""
    assert made(retrograd, text) == made(torch, text)


@pytest.mark.filterwarnings("ignore")
def test_E_1_steps_of_recurrent_cells_are_recorded_in_the_order_of_pytorch() -> None:
    """E-1: nodes sorted by their sequence numbers."""

    def recorded(engine: Any) -> list[str]:
        todo, found = [engine.nn.LSTMCell(3, 2)(engine.ones(1, 3))[0].grad_fn], {}
        while todo:
            node = todo.pop()
            if node is not None and node not in found:
                found[node] = node._sequence_nr()
                todo += [n for n, _ in node.next_functions]
        return [n.name() for n in sorted(found, key=found.__getitem__) if "Accumulate" not in n.name()]

    assert recorded(retrograd) == recorded(torch)
