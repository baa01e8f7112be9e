"""Whole programs from one seed: the same initial weights, the same batches and dropout, and so the same losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd.utils import data as own_data

LAYERS: dict[str, Callable[[Any], Any]] = {
    "Linear": lambda nn: nn.Linear(7, 5),
    "Bilinear": lambda nn: nn.Bilinear(3, 4, 5),
    "Conv2d": lambda nn: nn.Conv2d(4, 8, 3, groups=2),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(4, 6, 3),
    "Embedding": lambda nn: nn.Embedding(10, 7, padding_idx=2),
    "EmbeddingBag": lambda nn: nn.EmbeddingBag(10, 7),
    "RNN": lambda nn: nn.RNN(5, 6, 2, bidirectional=True),
    "LSTM": lambda nn: nn.LSTM(5, 6, 2, proj_size=3),
    "GRU": lambda nn: nn.GRU(5, 6),
    "LSTMCell": lambda nn: nn.LSTMCell(5, 6),
    "MultiheadAttention": lambda nn: nn.MultiheadAttention(8, 2, kdim=5, vdim=6, add_bias_kv=True),
    "TransformerEncoderLayer": lambda nn: nn.TransformerEncoderLayer(8, 2, 16),
    "TransformerDecoderLayer": lambda nn: nn.TransformerDecoderLayer(8, 2, 16),
    "AdaptiveLogSoftmaxWithLoss": lambda nn: nn.AdaptiveLogSoftmaxWithLoss(32, 20, [5, 10]),
}
FILLERS: dict[str, tuple[Any, ...]] = {
    "xavier_uniform_": (), "kaiming_uniform_": (), "kaiming_normal_": (), "xavier_normal_": (), "trunc_normal_": (),
    "trunc_normal_ of a tail": (0.0, 1.0, 2.0, 3.0), "sparse_": (0.3,), "uniform_": (-0.1, 0.1),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_initial_weights_of_layers(name: str) -> None:
    """Layers draw their initial weights in PyTorch's order, to the bit."""
    torch = pytest.importorskip("torch")
    states = []
    for engine in (torch, retrograd):
        engine.manual_seed(3)
        states.append({key: value.detach().numpy() for key, value in LAYERS[name](engine.nn).state_dict().items()})
    wanted, found = states
    assert list(found) == list(wanted)
    for key, values in wanted.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-6, err_msg=key)
    assert retrograd.get_rng_state().tolist() == torch.get_rng_state().tolist()


@pytest.mark.parametrize("name", FILLERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_initialisation(name: str, dtype: str) -> None:
    """`nn.init` draws as PyTorch does, redrawn numbers of a cut normal distribution included."""
    torch = pytest.importorskip("torch")
    drawn = []
    for engine in (torch, retrograd):
        engine.manual_seed(5)
        weight = engine.empty(20, 30, dtype=getattr(engine, dtype))
        drawn.append(getattr(engine.nn.init, name.split()[0])(weight, *FILLERS[name]).numpy())
    np.testing.assert_allclose(drawn[1], drawn[0], rtol=1e-6, atol=1e-7)
    assert retrograd.get_rng_state().tolist() == torch.get_rng_state().tolist()


def batches(torch: Any, data: Any) -> list[Any]:
    """What samplers and loaders give, with generators of their own and without; and what is drawn afterwards."""
    torch.manual_seed(1)
    rows, generator = range(70), torch.Generator().manual_seed(2)
    parts = data.random_split(rows, [0.6, 0.4])
    samplers = [
        data.RandomSampler(rows), data.RandomSampler(rows, generator=generator),
        data.RandomSampler(rows, replacement=True), data.RandomSampler(rows, num_samples=150, generator=generator),
        data.RandomSampler(rows, True, 64, generator=generator), data.SubsetRandomSampler(range(5, 30)),
        data.WeightedRandomSampler([0.1, 0.9, 0.4], 10), data.WeightedRandomSampler([0.1, 0.9, 0.4], 2, False),
    ]  # fmt: skip
    loaders = [
        data.DataLoader(rows, 8, shuffle=True), data.DataLoader(rows, 8), data.DataLoader(parts[0], 8, True),
        data.DataLoader(rows, 8, shuffle=True, generator=generator), data.DataLoader(rows, None, shuffle=True),
    ]  # fmt: skip
    drawn: list[Any] = [list(parts[0]), *map(list, samplers)]
    for loader in loaders * 2:
        started = iter(loader)
        drawn.append(torch.rand(1).item())  # between the start of an epoch and its first batch
        drawn += [batch.tolist() if hasattr(batch, "tolist") else batch for batch in started]
    return [*drawn, torch.rand(1).item(), torch.rand(1, generator=generator).item()]


def test_shuffled_batches() -> None:
    """Samplers, loaders and `random_split` give the same samples in the same order, and move the generator as far."""
    torch = pytest.importorskip("torch")
    assert batches(retrograd, own_data) == batches(torch, pytest.importorskip("torch.utils.data"))


def perceptron(nn: Any) -> Any:
    return nn.Sequential(
        nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 16), nn.Tanh(), nn.Dropout(0.5), nn.Linear(16, 1)
    )


def convolutions(nn: Any) -> Any:
    return nn.Sequential(
        nn.Unflatten(1, (1, 10)), nn.Conv1d(1, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout1d(0.3), nn.Flatten(),
        nn.Linear(64, 1),
    )  # fmt: skip


def recurrence(nn: Any) -> Any:
    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers, self.head = nn.LSTM(2, 8, 2, batch_first=True, dropout=0.3), nn.Linear(8, 1)

        def forward(self, x: Any) -> Any:
            return self.head(self.layers(x.view(-1, 5, 2))[0][:, -1])

    return Model()


def losses(torch: Any, data: Any, make: Callable[[Any], Any]) -> list[float]:
    """The losses of a short training."""
    torch.manual_seed(0)
    x = torch.randn(80, 10)
    y = 2 * x[:, :1] + 0.1 * torch.randn(80, 1)
    model = make(torch.nn)
    loader = data.DataLoader(data.TensorDataset(x, y), batch_size=16, shuffle=True)
    optimizer, found = torch.optim.Adam(model.parameters(), lr=1e-2), []
    for _ in range(2):
        for rows, targets in loader:
            optimizer.zero_grad()
            loss = ((model(rows) - targets) ** 2).mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
    return found


@pytest.mark.parametrize("make", [perceptron, convolutions, recurrence])
def test_losses_of_training(make: Callable[[Any], Any]) -> None:
    """A program with drawn data, default weights, dropout, a shuffled loader and Adam has PyTorch's losses."""
    torch = pytest.importorskip("torch")
    wanted = losses(torch, pytest.importorskip("torch.utils.data"), make)
    np.testing.assert_allclose(losses(retrograd, own_data, make), wanted, rtol=1e-5)


def test_dropout_in_a_checkpoint() -> None:
    """A checkpointed block draws its dropout again as it drew it, and what follows agrees with PyTorch."""
    torch = pytest.importorskip("torch")
    found = []
    for engine in (torch, retrograd):
        engine.manual_seed(4)
        x = engine.ones(40, requires_grad=True)
        y = engine.utils.checkpoint.checkpoint(lambda x: engine.nn.functional.dropout(x * 2), x, use_reentrant=False)
        y.sum().backward()
        found.append([y.tolist(), x.grad.tolist(), engine.rand(2).tolist()])
    assert found[0] == found[1]
    assert found[1][0] == found[1][1]
