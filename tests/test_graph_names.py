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
"""


def made(engine: Any, text: str) -> list[str]:
    """The graph of what an expression gives; of its parameters only that they are leaves."""
    x = engine.arange(12.0).sin().reshape(3, 4).requires_grad_()
    b = (engine.arange(32.0).cos().reshape(2, 4, 4) + 3 * engine.eye(4)).requires_grad_()
    names = {"torch": engine, "F": engine.nn.functional, "x": x, "b": b, "i": engine.tensor([0, 2, 1])}
    result = eval(text, {**names, "p": x.detach().abs()})
    return graph_of([result], [x, b])


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
