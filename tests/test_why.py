"""``rg.inspect.why``: why one gradient is None, zero or not finite, on both engines."""

from __future__ import annotations

import importlib

import pytest

import retrograd as rg
from retrograd.errors import NotATensorError


@pytest.fixture(params=["retrograd", "torch"])
def torch(request):
    """Each engine, PyTorch only where it is installed."""
    pytest.importorskip(request.param)
    return importlib.import_module(request.param)


def test_cut(torch):
    """None because of a detach: named with its line, and the way from the tensor to the loss."""
    with rg.debug() as trace:
        w = torch.ones(3, requires_grad=True)
        v = torch.ones(3, requires_grad=True)
        hidden = torch.exp(w)
        loss = (hidden.detach() * v).sum()
        loss.backward()
    answer = rg.inspect.why(w, trace)

    assert answer.state == "none"
    assert "detach" in str(answer)
    assert [step.split(" ")[0] for step in answer.path] == ["exp", "detach", "mul", "sum"]
    assert rg.inspect.why(v).state == "fine"


def test_not_finite(torch):
    """The node where it was born, with its line."""
    with rg.debug() as trace:
        rate = torch.tensor([1.0, 0.0], requires_grad=True)
        loss = (torch.sqrt(rate) * 2.0).sum()
        loss.backward()
    answer = rg.inspect.why(rate, trace)

    assert answer.state == "nonfinite"
    assert "sqrt" in answer.text.lower()
    assert any("test_why.py" in step for step in answer.path)


def test_zero(torch):
    """A dead ReLU."""
    with rg.debug() as trace:
        w = torch.tensor([-1.0, -2.0], requires_grad=True)
        torch.relu(w * 3.0).sum().backward()
    answer = rg.inspect.why(w, trace)

    assert answer.state == "zero"
    assert "relu" in answer.text.lower()


def test_what_the_last_run_did_not_bring(torch):
    """A finite gradient that is added to an infinite one is not blamed, nor one that cancels another for being zero."""
    w, v = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    torch.log(w).sum().backward()
    (v * 2.0).sum().backward()
    with rg.debug() as trace:
        (w * 2.0 - v * 2.0).sum().backward()
    answers = [rg.inspect.why(tensor, trace) for tensor in (w, v)]

    assert [answer.state for answer in answers] == ["nonfinite", "zero"]
    for answer in answers:
        assert "what arrived in backward 0 is not" in answer.text
        assert "backward adds to it" in answer.text


def test_not_finite_from_the_start(torch):
    """An infinite gradient that backward was given is so from its start."""
    with rg.debug() as trace:
        w = torch.ones(2, requires_grad=True)
        (w * 2.0).sum().backward(torch.tensor(float("inf")))

    assert "from the start of backward on" in rg.inspect.why(w, trace).text


def test_what_a_tensor_tells_by_itself(torch):
    """Without a trace, and of tensors that keep no gradient."""
    with rg.debug() as trace:
        w = torch.ones(2, requires_grad=True)
        h = w * 2.0
        h.sum().backward()
    plain = torch.ones(2)

    assert "retain_grad" in str(rg.inspect.why(h, trace))
    assert "does not require" in str(rg.inspect.why(plain, trace))
    del trace
    assert rg.inspect.why(w).state == "fine"
    assert "rg.debug()" in str(rg.inspect.why(w))


def test_no_tensor():
    """Anything else is refused."""
    with pytest.raises(NotATensorError, match="'int' is no tensor"):
        rg.inspect.why(3)
