"""Results that require grad although PyTorch has no derivative for them: backward says so, with ATen's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from op_runs import quiet

import retrograd

real_torch = pytest.importorskip("torch")


def _asked(torch: Any, *shape: int) -> Any:
    return torch.full(shape, 0.5, requires_grad=True)


CASES: dict[str, Callable[[Any], Any]] = {
    "histogram": lambda t: t.histogram(_asked(t, 5), 3),
    "histogram by weight": lambda t: t.histogram(t.ones(5), 3, weight=_asked(t, 5)),
    "histogram between edges": lambda t: t.histogram(_asked(t, 5), t.tensor([0.0, 1, 2])),
    "histogram of constants": lambda t: t.histogram(t.ones(5), 3),
    "histogramdd": lambda t: t.histogramdd(_asked(t, 5, 2), [3, 4]),
    "histogramdd by weight": lambda t: t.histogramdd(t.ones(5, 2), 3, weight=_asked(t, 5), density=True),
    "histogramdd between edges": lambda t: t.histogramdd(_asked(t, 5, 2), [t.tensor([0.0, 1, 2])] * 2),
    "histogramdd of constants": lambda t: t.histogramdd(t.ones(5, 2), 3),
    "binomial": lambda t: t.binomial(_asked(t, 3), t.ones(3)),
    "binomial by chance": lambda t: t.binomial(t.ones(3), _asked(t, 3)),
    "detach_copy": lambda t: t.detach_copy(_asked(t, 3)),
    "detach_copy of a constant": lambda t: t.detach_copy(t.ones(3)),
}


def _flat(value: Any) -> list[Any]:
    return [part for v in value for part in _flat(v)] if isinstance(value, (tuple, list)) else [value]


def _told(torch: Any, case: Callable[[Any], Any]) -> list[Any]:
    """Of each result: values, whether it requires grad, its node, and what backward says."""
    told = []
    for t in _flat(case(torch)):
        said = ""
        if t.requires_grad:
            with pytest.raises(RuntimeError) as error:
                t.sum().backward()
            said = str(error.value)
        values = None if "binomial" in said else t.detach().numpy().astype(float).round(4).tolist()
        told.append((values, t.requires_grad, t.grad_fn and t.grad_fn.name(), said))
    return told


@pytest.mark.parametrize("name", CASES)
def test_backward_of_what_has_no_derivative_raises_as_in_torch(name: str) -> None:
    assert _told(retrograd, CASES[name]) == _told(real_torch, CASES[name])


REAL_ONLY: dict[str, Callable[[Any, Any], Any]] = {
    "silu": lambda t, x: t.nn.functional.silu(x),
    "embedding": lambda t, x: t.nn.functional.embedding(t.tensor([1, 0]), x),
    "bilinear": lambda t, x: t.nn.functional.bilinear(x, x, t.ones(2, 3, 3, dtype=x.dtype)),
    "nan_to_num": lambda t, x: t.nan_to_num(x),
    "soft_margin_loss": lambda t, x: t.nn.functional.soft_margin_loss(x, x.detach()),
    "scatter_reduce": lambda t, x: t.scatter_reduce(x, 0, t.zeros(2, 3, dtype=t.int64), x, "sum"),
    "index_reduce": lambda t, x: t.index_reduce(x, 0, t.tensor([0, 1]), x, "prod"),
    "select_scatter": lambda t, x: t.select_scatter(x, x[0], 0, 1),
    "slice_scatter": lambda t, x: t.slice_scatter(x, x[:1], 0, 0, 1),
    "select_copy": lambda t, x: t.select_copy(x, 0, 1),
    "slice_copy": lambda t, x: t.slice_copy(x, 0, 0, 1),
}


@pytest.mark.parametrize("name", REAL_ONLY)
def test_what_has_a_derivative_for_real_results_only(name: str) -> None:
    """With complex ones PyTorch refuses the call where it would record, and only there."""

    def outcome(torch: Any, grad: bool, dtype: str) -> Any:
        x = torch.tensor([[1.0, 2.0, 0.5], [2.0, -1.0, 3.0]], dtype=getattr(torch, dtype), requires_grad=grad)
        with quiet():
            try:
                return tuple(REAL_ONLY[name](torch, x).shape)
            except RuntimeError as error:
                return str(error).split(" complex dtype")[0].split(" not implemented")[0]

    for case in ((True, "complex64"), (False, "complex64"), (True, "float32")):
        ours, theirs = outcome(retrograd, *case), outcome(real_torch, *case)
        assert ours == theirs or "index_func_" in theirs, case  # (our kernel takes what PyTorch's has no code for)


@pytest.mark.parametrize("torch", [retrograd, real_torch])
def test_in_place_forms_are_not_refused(torch: Any) -> None:
    """The in-place forms record complex results, as in PyTorch."""
    x = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    assert torch.nn.functional.silu(x * 1, inplace=True).grad_fn.name() == "SiluBackward0"
    assert (x * 1).nan_to_num_().grad_fn.name() == "NanToNumBackward0"


def _with_weight(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda t, x, w: call(t.nn.functional, x, w, t.tensor([0, 2]))


REFUSED = {
    "nll_loss": _with_weight(lambda f, x, w, classes: f.nll_loss(x, classes, w)),
    "nll_loss of pixels": _with_weight(
        lambda f, x, w, classes: f.nll_loss(x[:, :, None, None], classes[:, None, None], w)
    ),
    "cross_entropy": _with_weight(lambda f, x, w, classes: f.cross_entropy(x, classes, w)),
    "binary_cross_entropy": _with_weight(
        lambda f, x, w, _: f.binary_cross_entropy(x.sigmoid(), x.detach().sigmoid(), w)
    ),
    "with logits": _with_weight(lambda f, x, w, _: f.binary_cross_entropy_with_logits(x, x.detach(), w)),
    "positive weight": _with_weight(lambda f, x, w, _: f.binary_cross_entropy_with_logits(x, x.detach(), pos_weight=w)),
    "multi_margin_loss": _with_weight(lambda f, x, w, classes: f.multi_margin_loss(x, classes, weight=w)),
    "soft_margin_loss": _with_weight(lambda f, x, w, _: f.soft_margin_loss(x, w.expand(2, 3))),
    "running mean": _with_weight(lambda f, x, w, _: f.batch_norm(x, w, w.detach(), training=True)),
    "running variance": _with_weight(lambda f, x, w, _: f.batch_norm(x, w.detach(), w)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_operands_without_a_derivative_are_refused_where_they_require_grad(name: str) -> None:
    """In grad mode they are refused in PyTorch's words, also in a call that would not record; constants are fine."""

    def outcome(torch: Any, x_grad: bool, w_grad: bool) -> str:
        x = torch.tensor([[0.1, 0.2, 0.5], [0.2, -0.1, 0.3]], requires_grad=x_grad)
        w = torch.tensor([1.0, 2.0, 0.5], requires_grad=w_grad)
        with quiet():
            try:
                REFUSED[name](torch, x, w)
            except RuntimeError as error:
                return str(error).split(" This input")[0]
        return "taken"

    for case in ((True, True), (False, True), (True, False)):
        assert outcome(retrograd, *case) == outcome(real_torch, *case), case
    with retrograd.no_grad():
        assert outcome(retrograd, True, True) == "taken"
