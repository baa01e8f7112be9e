"""Layers, pools and losses refuse what PyTorch refuses, with the same type of error and most words of its message."""

from __future__ import annotations

from typing import Any

import pytest
from both_engines import assert_refused_alike

import retrograd

torch = pytest.importorskip("torch")

REFUSED = """
F.max_pool1d(x3, 0)
F.max_pool1d(x3, 2, stride=[0])
F.max_pool2d(x4, 2, padding=-1)
F.avg_pool2d(x4, 2, padding=-1)
F.adaptive_max_pool1d(x3, ())
F.conv1d(x3, torch.ones(2, 2), padding=1)
F.conv2d(x4, torch.ones(2, 2, 2, 2), groups=3)
F.triplet_margin_with_distance_loss(x3, x3[0], x3)
F.batch_norm(x3, None, None, training=True, eps=-1.)
torch.nn.HuberLoss(delta=1j)
torch.nn.CircularPad2d(1)(x5)
torch.nn.ReflectionPad2d(1)(x5)
torch.nn.LSTM(4, 2, bias=1)
torch.nn.GRU(0, 2)
torch.nn.RNN(4, 2)(x3.double())
torch.nn.LSTM(4, 2)(x3, (x3[0], x3[0]))
torch.nn.GRUCell(4, 2)(x3[0], x3[0])
F.prelu(x3.sum(), torch.ones(3))
F.max_pool2d(x4, 1, dilation=0)
F.max_pool3d(x5, (1, 0, 1))
F.avg_pool2d(x4, (0, 1))
F.lp_pool2d(x4, 2., 0)
F.avg_pool3d(x5[:, :0], 1)
F.avg_pool2d(x4[:, :0], 1)
F.max_pool2d(x4[:, :0], 1)
F.max_pool1d(x3[:, :0], 1)
F.avg_pool3d(x5[..., :2], 3, padding=1)
F.adaptive_avg_pool1d(x3[..., :0], 2)
F.adaptive_avg_pool2d(x4, -1)
F.adaptive_avg_pool2d(x4, (1, 2, 3))
F.adaptive_max_pool2d(x4, (-7, 1))
F.adaptive_max_pool2d(x4[..., :0, :], 2)
F.adaptive_max_pool3d(x5, (1, 2))
F.max_unpool1d(x3, x3.long(), 2, output_size=(1,))
F.max_unpool2d(x4, x4, 2)
F.max_unpool2d(x4, x4.long(), 2, output_size=(99, 8))
F.fractional_max_pool2d(x4, 2, (99, 3))
F.fractional_max_pool2d(x4, 2, (2,))
F.fractional_max_pool2d(x4[..., :0], 2, (2, 3))
F.fractional_max_pool2d(x4, 2, (2, 3), _random_samples=torch.rand(2, 3))
F.fractional_max_pool2d(x4, 2, (2, 3), _random_samples=torch.rand(2, 2, 3))
F.fractional_max_pool2d(x4, 2, (2, 3), _random_samples=torch.rand(1, 2, 2))
F.fractional_max_pool2d(x4, 2, (2, 3), _random_samples=torch.rand(2, 2, 2).double())
F.unfold(x4, -7)
F.unfold(x4, 2, stride=0)
F.unfold(x4, 2, dilation=0)
F.unfold(x4, 2, padding=-1)
F.fold(x4[0], (3, 3), 2, stride=0)
F.fold(x3[:, :0, :4], (3, 3), 2)
F.conv2d(x4, torch.ones(1, 2, 1, 1), dilation=0)
F.batch_norm(x4, None, None, weight=torch.ones(2).byte(), training=True)
F.batch_norm(x4.double(), None, None, weight=torch.ones(2), training=True)
F.batch_norm(x4, torch.ones(2).double(), torch.ones(2).double())
F.instance_norm(x4, weight=torch.ones(2).double())
F.instance_norm(x4[0, 0, 0])
F.layer_norm(x3, [4], torch.ones(4).double())
F.layer_norm(x3.double(), [4], torch.ones(4))
F.group_norm(x4.double(), 1, torch.ones(2))
F.embedding(torch.tensor([0]), torch.ones(0, 2))
F.embedding_bag(torch.tensor([[9]]), torch.ones(3, 2))
F.embedding_bag(torch.tensor([[1]]), torch.ones(3, 2, 2))
F.embedding_bag(torch.tensor([[1]]), torch.ones(3, 2), torch.tensor([0]))
F.embedding_bag(torch.tensor([1]), torch.ones(3, 2), torch.tensor([0, 5]))
F.embedding_bag(torch.tensor([1]), torch.ones(3, 2), torch.tensor([0.]))
F.nll_loss(x4, torch.ones(2, 3, 5).long())
F.nll_loss(x4, torch.ones(2, 3).long())
F.nll_loss(x3, torch.ones(2, 5).long())
F.nll_loss(x3, torch.ones(1, 4).long())
F.nll_loss(x5, torch.ones(2, 3, 4, 5).long())
F.nll_loss(x3[0], torch.tensor(1))
F.multi_margin_loss(x3[0], torch.tensor([1., 0.]))
F.multi_margin_loss(x3[0], torch.tensor([1, 0, 0]))
F.multi_margin_loss(x3, torch.tensor([1, 0]))
F.multi_margin_loss(x3[0], torch.tensor([1, 0]), weight=torch.ones(2))
F.multilabel_margin_loss(x3[0], torch.tensor([[1, 0, 9, 0], [1, 0, -1, 0]]))
F.multilabel_margin_loss(x3[0], x3[0].int())
F.bilinear(x3, x3.int(), torch.ones(4, 4, 4))
torch.rnn_relu_cell(x3[0], torch.ones(1, 2), torch.ones(2, 4), torch.ones(2, 2))
torch.gru_cell(x3[0], torch.ones(3, 2), torch.ones(6, 4), torch.ones(6, 2))
torch.cdist(x3, x3.int())
torch.cdist(x3, x3.double())
torch.pdist(x3[0].int())
F.cosine_similarity(x3, x3, eps=-7.)
F.cosine_similarity(x3.long(), x3.long())
F.nll_loss(x3[0], torch.ones(5, 2, 2).long())
F.nll_loss(x3[0, 0], torch.tensor([1, 2]))
F.cross_entropy(x3[0], torch.ones(3))
F.adaptive_avg_pool2d(x3[0], (1, 2))
F.interpolate(x4[:, :0], scale_factor=2, mode='bicubic')
F.interpolate(x3, mode='x', size=4, align_corners=True)
F.interpolate(x4, size=3, mode='lanczos')
F.interpolate(x4, size=3, mode='lanczos', antialias=True, align_corners=True)
F.cross_entropy(x3[0], x3[0].long())
F.cross_entropy(x3[0].cfloat(), x3[0].cfloat())
F.fractional_max_pool3d(x5, 2, output_size=3)
F.pad(x3 > 0, (1, 1), mode='reflect')
F.pad(x4 > 0, (1, 1, 1, 1), mode='replicate')
torch.fmod(x3 > 0, True)
(x3 > 0).remainder_(True)
"""


def names_of(engine: Any) -> dict[str, Any]:
    """Images of ones of one to three dimensions as ``x3`` to ``x5``."""
    names = {"torch": engine, "F": engine.nn.functional}
    for rank in (3, 4, 5):
        names[f"x{rank}"] = engine.ones(2, 2, *(4,) * (rank - 2))
    return names


@pytest.mark.parametrize("text", REFUSED.strip().splitlines())
def test_refused_as_by_pytorch(text: str) -> None:
    assert_refused_alike(text, names_of)


def both(call: Any) -> tuple[Any, Any]:
    """What a call of an engine gives on both, as NumPy arrays."""
    return tuple(call(engine, engine.nn.functional).numpy() for engine in (retrograd, torch))


def _mean_after(engine: Any, batch: Any) -> Any:
    """The running variance of a layer that has seen this batch."""
    layer = engine.nn.BatchNorm1d(3)
    layer(batch)
    return layer.running_var


CORNERS = {
    "rms_norm of halves adds float32's epsilon": lambda t, f: f.rms_norm(t.tensor([0.5, 0.25]).half() / 64, [2]),
    "norms of halves by float32": lambda t, f: f.layer_norm(t.arange(4.0).half(), [4], t.ones(4)),
    "one row, its class a 0-d tensor": lambda t, f: f.multi_margin_loss(t.arange(4.0)[None], t.tensor(1)),
    "a row and its class in a list": lambda t, f: f.multi_margin_loss(t.arange(4.0), t.tensor([1]), reduction="none"),
    "classes are the input's last dimension": lambda t, f: f.multilabel_soft_margin_loss(
        t.arange(6.0).view(2, 3), t.ones(1, 2, 3)
    ),
    "a row and its class in a list of one": lambda t, f: f.nll_loss(t.arange(4.0), t.tensor([1])),
    "less than no smoothing": lambda t, f: f.cross_entropy(t.eye(2), t.tensor([1, 0]), label_smoothing=-1.0),
    "weights of positions are counted": lambda t, f: f.nll_loss(
        t.eye(4).view(2, 2, 4), t.ones(2, 4).long(), t.tensor([[1.0, 2.0]])
    ),
    "no channels": lambda t, f: f.adaptive_avg_pool2d(t.ones(0, 4, 4), 3),
    "a channel of no dimensions": lambda t, f: f.multilabel_margin_loss(t.tensor(2.0), t.tensor(0)),
    "a batch of nothing": lambda t, f: f.batch_norm(t.zeros(0), t.zeros(0), t.zeros(0), training=True),
    "the state of a layer that may keep samples": lambda t, f: t.tensor(
        list(t.nn.FractionalMaxPool2d(2, 2, _random_samples=t.ones(1, 1, 2)).state_dict()) == ["_random_samples"]
    ),
    "a batch of nothing leaves statistics alone": lambda t, f: _mean_after(t, t.ones(0, 3, 2)),
    "an index of nothing, of any dtype": lambda t, f: t.gather(t.ones(5), 0, t.ones(0)),
    "no values in no boundaries": lambda t, f: t.searchsorted(t.zeros(0, 0), t.zeros(0, 0)),
    "integers summed beforehand": lambda t, f: t.tensordot(
        t.ones(1, 1, 1, dtype=t.int8), t.ones(2, 1, 2, dtype=t.int8), ([0, 1], [2, 0])
    ),
    "the mean of nothing": lambda t, f: f.adaptive_avg_pool2d(t.ones(1, 2, 3, 0), 1),
}


@pytest.mark.parametrize("name", CORNERS)
def test_corner(name: str) -> None:
    ours, theirs = both(CORNERS[name])
    assert ours.dtype == theirs.dtype
    assert ours == pytest.approx(theirs, rel=2e-3, nan_ok=True)


def test_an_infinity_does_not_spoil_the_second_gradient_of_hardswish() -> None:
    def second(t: Any, f: Any) -> Any:
        x = t.tensor([float("inf"), -float("inf"), 1.0, 3.0, -3.0], requires_grad=True)
        g = t.ones(5, requires_grad=True)
        (slope,) = t.autograd.grad(f.hardswish(x), x, g, create_graph=True)
        return t.stack(t.autograd.grad(slope.sum(), (x, g)))

    ours, theirs = both(second)
    assert ours == pytest.approx(theirs)
