"""Complex numbers for parameters that are real, and two spellings of changes of shape, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from op_runs import quiet

import retrograd

real_torch = pytest.importorskip("torch")

Call = Callable[[Any], Any]
REFUSED: dict[str, Call] = {
    "clamp": lambda t: t.clamp(t.ones(3), 1j),
    "clamp max": lambda t: t.clamp(t.ones(3), 0, 1j),
    "norm": lambda t: t.norm(t.ones(3), 1j),
    "matrix_norm": lambda t: t.linalg.matrix_norm(t.ones(2, 2), 1j),
    "normalize": lambda t: t.nn.functional.normalize(t.ones(3), p=1j),
    "histc": lambda t: t.histc(t.ones(3), 4, 1j, 2),
    "cdist": lambda t: t.cdist(t.ones(2, 2), t.ones(2, 2), 1j),
    "std": lambda t: t.std(t.ones(3), correction=1j),
    "var_mean": lambda t: t.var_mean(t.ones(3), 0, correction=1j),
    "arange": lambda t: t.arange(0, 1j),
    "threshold": lambda t: t.nn.functional.threshold(t.ones(3), 1, 1j),
    "leaky_relu": lambda t: t.nn.functional.leaky_relu(t.ones(3), 1j),
    "softplus": lambda t: t.nn.functional.softplus(t.ones(3), 1j),
    "rrelu": lambda t: t.nn.functional.rrelu(t.ones(3), 1j),
    "addmm": lambda t: t.addmm(t.ones(2, 2), t.ones(2, 2), t.ones(2, 2), beta=1j),
    "masked_fill": lambda t: t.ones(3).masked_fill(t.ones(3) > 0, 1j),
    "scatter": lambda t: t.ones(3).scatter(0, t.tensor([0]), 1j),
    "x[0] = 1j": lambda t: t.ones(3).__setitem__(0, 1j),
    "x[0] = 300": lambda t: t.ones(3, dtype=t.uint8).__setitem__(0, 300),
    "layer_norm": lambda t: t.nn.functional.layer_norm(t.ones(3), (3,), eps=1j),
    "group_norm": lambda t: t.nn.functional.group_norm(t.ones(1, 2, 3), 1, eps=1j),
    "rms_norm": lambda t: t.nn.functional.rms_norm(t.ones(3), (3,), eps=1j),
    "instance_norm": lambda t: t.nn.functional.instance_norm(t.ones(1, 2, 3), eps=1j),
    "batch_norm": lambda t: t.nn.functional.batch_norm(t.ones(2, 3), None, None, training=True, momentum=1j),
    "smooth_l1_loss": lambda t: t.nn.functional.smooth_l1_loss(t.ones(3), t.ones(3), beta=1j),
    "huber_loss": lambda t: t.nn.functional.huber_loss(t.ones(3), t.ones(3), delta=1j),
    "poisson_nll_loss": lambda t: t.nn.functional.poisson_nll_loss(t.ones(3), t.ones(3), eps=1j),
    "margin_ranking_loss": lambda t: t.nn.functional.margin_ranking_loss(t.ones(3), t.ones(3), t.ones(3), margin=1j),
    "hinge_embedding_loss": lambda t: t.nn.functional.hinge_embedding_loss(t.ones(3), t.ones(3), margin=1j),
    "cross_entropy": lambda t: t.nn.functional.cross_entropy(t.ones(1, 3), t.tensor([0]), label_smoothing=1j),
    "embedding": lambda t: t.nn.functional.embedding(t.tensor([0]), t.ones(2, 2), max_norm=1j),
    "pad": lambda t: t.nn.functional.pad(t.ones(3), (1, 1), value=1j),
    "cumulative_trapezoid": lambda t: t.cumulative_trapezoid(t.ones(3), dx=1j),
    "isin": lambda t: t.isin(t.ones(3), 1j),
    "resize to more": lambda t: t.ones(6).resize(3, 3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    """The error has PyTorch's type and begins as PyTorch's."""
    found = []
    for engine in (retrograd, real_torch):
        with quiet(), pytest.raises((RuntimeError, TypeError, NotImplementedError)) as caught:
            REFUSED[name](engine)
        found.append((caught.type, str(caught.value)[:45]))
    assert found[0] == found[1]


@pytest.mark.parametrize("engine", [retrograd, real_torch])
def test_squeeze_takes_dimensions_one_by_one(engine: Any) -> None:
    """``x.squeeze(0, 2)`` is ``x.squeeze((0, 2))``, in place as well."""
    x = engine.zeros(1, 2, 1, requires_grad=True)

    assert tuple(x.squeeze(0, 2).shape) == tuple(x.squeeze((0, 2)).shape) == tuple(x.squeeze(dim=(0, 2)).shape) == (2,)
    assert x.squeeze(0, 2).grad_fn._saved_dim == (0, 2)
    assert tuple(x.squeeze(0).shape) == (2, 1)
    assert tuple(x.squeeze().shape) == (2,)
    assert tuple(x.detach().clone().squeeze_(0, 1).shape) == (2, 1)


@pytest.mark.parametrize("engine", [retrograd, real_torch])
def test_resize(engine: Any) -> None:
    """``resize`` and ``resize_as`` reshape, warn, and pass gradients back."""
    x = engine.arange(6.0).requires_grad_()
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        y = x.resize(3, 2)
    with pytest.warns(UserWarning, match="non-inplace resize_as is deprecated"):
        z = y.resize_as(engine.ones(2, 3))
    (z * 2).sum().backward()

    assert (tuple(y.shape), tuple(z.shape)) == ((3, 2), (2, 3))
    assert y.grad_fn.name() == "ResizeBackward"
    assert x.grad.tolist() == [2.0] * 6
