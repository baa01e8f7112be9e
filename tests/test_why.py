"""``rg.why``: why one gradient is None, zero or not finite, on both engines."""

from __future__ import annotations

import importlib
import linecache
import re

import pytest

import retrograd as rg
from retrograd.errors import NotATensorError, UsageError


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
    answer = rg.why(w, trace)

    assert answer.state == "none"
    assert "detach" in str(answer)
    assert [step.split(" ")[0] for step in answer.path] == ["exp", "detach", "mul", "sum"]
    assert rg.why(v).state == "fine"


def test_not_finite(torch):
    """The node where it was born, with its line."""
    with rg.debug() as trace:
        rate = torch.tensor([1.0, 0.0], requires_grad=True)
        loss = (torch.sqrt(rate) * 2.0).sum()
        loss.backward()
    answer = rg.why(rate, trace)

    assert answer.state == "nonfinite"
    assert "sqrt" in answer.text.lower()
    assert any("test_why.py" in step for step in answer.path)


def test_zero(torch):
    """A dead ReLU."""
    with rg.debug() as trace:
        w = torch.tensor([-1.0, -2.0], requires_grad=True)
        torch.relu(w * 3.0).sum().backward()
    answer = rg.why(w, trace)

    assert answer.state == "zero"
    assert "relu" in answer.text.lower()


def test_what_the_last_run_did_not_bring(torch):
    """A finite gradient that is added to an infinite one is not blamed, nor one that cancels another for being zero."""
    w, v = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    torch.log(w).sum().backward()
    (v * 2.0).sum().backward()
    with rg.debug() as trace:
        (w * 2.0 - v * 2.0).sum().backward()
    answers = [rg.why(tensor, trace) for tensor in (w, v)]

    assert [answer.state for answer in answers] == ["nonfinite", "zero"]
    for answer in answers:
        assert "what arrived in backward 0 is not" in answer.text
        assert "backward adds to it" in answer.text


def test_not_finite_from_the_start(torch):
    """An infinite gradient that backward was given is so from its start."""
    with rg.debug() as trace:
        w = torch.ones(2, requires_grad=True)
        (w * 2.0).sum().backward(torch.tensor(float("inf")))

    assert "from the start of backward on" in rg.why(w, trace).text


def test_what_a_tensor_tells_by_itself(torch):
    """Without a trace, and of tensors that keep no gradient."""
    with rg.debug() as trace:
        w = torch.ones(2, requires_grad=True)
        h = w * 2.0
        h.sum().backward()
    plain = torch.ones(2)

    assert "retain_grad" in str(rg.why(h, trace))
    assert "does not require" in str(rg.why(plain, trace))
    del trace
    assert rg.why(w).state == "fine"
    assert "rg.debug()" in str(rg.why(w))


def test_who_switched_it_off(torch):
    """Of a tensor that no longer requires gradients, the line that said so is named."""
    w, v = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    with rg.debug() as trace:
        w.requires_grad_(False)
        (w * v).sum().backward()
        v.requires_grad = False
    found = re.search(r"since requires_grad was switched off \(test_why.py:(\d+)\)", rg.why(w, trace).text)

    assert found is not None
    assert linecache.getline(__file__, int(found[1])).strip() == "w.requires_grad_(False)"
    assert "switched off" in rg.why(v, trace).text or v.grad is not None


def test_cleared_since(torch):
    """After ``zero_grad()`` at the end of a step, the run that brought a gradient is not denied."""
    with rg.debug() as trace:
        net = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.ones(3, 2)).pow(2).mean().backward()
        opt.step()
        opt.zero_grad()
        w = torch.ones(2, requires_grad=True)
        (w * 2.0).sum().backward()
        w.grad.zero_()
    for tensor in (net.weight, w):
        text = rg.why(tensor, trace).text
        assert "was cleared at test_why.py:" in text
        assert "in backward" in text


def test_runs_that_leave_grad_as_it_is(torch):
    """``autograd.grad``, ``backward(inputs=...)``, a run that failed, and a Function that returns None."""

    class Forgetful(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g, None

    with rg.debug() as trace:
        taken, asked, other, failing, kept, forgotten = (torch.ones(2, requires_grad=True) for _ in range(6))
        torch.autograd.grad(taken.exp().sum(), taken)
        (asked * other).sum().backward(inputs=[asked])
        y = failing.exp()
        loss = y.sum()
        y.add_(1.0)
        with pytest.raises(RuntimeError):
            loss.backward()
        Forgetful.apply(kept, forgotten * 1.0).sum().backward()
    texts = [str(rg.why(one, trace)) for one in (taken, other, failing, forgotten)]

    assert "autograd.grad returns gradients and leaves .grad as it is" in texts[0]
    assert "was asked for other tensors only" in texts[1]
    assert "raised RuntimeError before it got there" in texts[2]
    assert "Forgetful" in texts[3]
    assert "passes none on" in texts[3]
    assert not any("no backward pass started" in text for text in texts)


def test_the_error_that_ended_the_block(torch):
    """Is explained."""
    w = torch.ones(2, requires_grad=True)
    trace = rg.debug()

    @trace
    def step():
        y = w.exp()
        loss = y.sum()
        y.add_(1.0)
        loss.backward()

    with pytest.raises(RuntimeError):
        step()
    assert "was changed by the in-place add_" in rg.why(w, trace).text


def test_leaves_of_one_name(torch):
    """Each is looked for where its own gradient arrived."""

    def root(w):
        (w.sqrt() * 3.0).sum().backward()

    def double(w):
        (w * 2.0).sum().backward()

    with rg.debug() as trace:
        first, second = (torch.tensor([0.0, 1.0], requires_grad=True) for _ in range(2))
        root(first)
        double(second)
    assert "sqrt" in rg.why(first, trace).text
    assert rg.why(second, trace).state == "fine"


def test_zero_beside_other_results(torch):
    """A node one of whose results is zero is named although its other ones are not."""
    with rg.debug() as trace:
        net = torch.nn.Linear(3, 1)
        net(torch.zeros(4, 3)).sum().backward()
    answer = rg.why(net.weight, trace)

    assert answer.state == "zero"
    assert "AddmmBackward0" in answer.text
    assert "start of backward" not in answer.text


def test_the_way_that_is_bad(torch):
    """Of several ways from the loss, a finite one that is shorter is not blamed."""
    with rg.debug() as trace:
        w = torch.tensor([0.0, 1.0], requires_grad=True)
        ((w * 1.0).sqrt() * 2.0 + 1.0).mul(w.exp() * 0.5).sum().backward()
    answer = rg.why(w, trace)

    assert any(step.startswith("SqrtBackward0") for step in answer.path)
    assert "sqrt" in answer.text.lower()


@pytest.mark.parametrize(("factor", "state"), [(0.0, "zero"), (float("nan"), "nonfinite")])
def test_a_hook_is_named(torch, factor, state):
    """Neither the node before it nor the start of backward."""

    def spoil(grad):
        return grad * factor

    with rg.debug() as trace:
        w = torch.ones(2, requires_grad=True)
        h = w * 2.0
        (w if state == "zero" else h).register_hook(spoil)
        h.sin().sum().backward()
    answer = rg.why(w, trace)

    assert answer.state == state
    assert "hook spoil" in answer.text


def test_bad_data_is_named(torch):
    """A NaN of the data, not the first node of backward that meets it."""
    with rg.debug() as trace:
        net = torch.nn.Linear(2, 1)
        data = torch.tensor([[1.0, float("nan")]])
        net(data).pow(2).mean().backward()
    assert "the input data" in rg.why(net.weight, trace).text


def test_a_trace_that_does_not_know_the_tensor(torch):
    """It says so, and that a higher level hears of more."""
    with rg.debug(level="graph") as low, rg.debug() as other:
        pass
    with rg.debug():
        w = torch.zeros(2, requires_grad=True)
        w.sqrt().sum().backward()

    assert 'level="full"' in rg.why(w, low).text
    assert "has not met this tensor" in rg.why(w, other).text


def test_gradients_of_every_kind(torch):
    """Complex, empty and sparse ones are judged by their entries; none of them raises or warns."""
    imaginary = torch.zeros(2, dtype=torch.complex64, requires_grad=True)
    (imaginary * 1j).real.sum().backward()
    empty = torch.zeros(0, 3, requires_grad=True)
    (empty * 2.0).sum().backward()
    table = torch.ones(4, 3, requires_grad=True)
    torch.nn.functional.embedding(torch.tensor([1, 2]), table, sparse=True).sum().backward()
    shapes = torch.ones(2, device="meta", requires_grad=True)
    (shapes * 2.0).sum().backward()

    states = [rg.why(one).state for one in (imaginary, empty, table, shapes)]
    assert states == ["fine", "fine", "fine", "unreadable"]
    assert "no entries" in rg.why(empty).text


@pytest.mark.parametrize("what", [3, None, "w", "node", "list"])
def test_no_tensor(torch, what):
    """Anything else is refused."""
    w = torch.ones(2, requires_grad=True)
    given = {"node": (w * 2.0).grad_fn, "list": [w]}.get(what, what)
    with pytest.raises(NotATensorError, match="is not a tensor"):
        rg.why(given)


def test_no_trace(torch):
    """What is no block of ``rg.debug()`` is refused."""
    with pytest.raises(UsageError, match=r"rg\.debug\(\)"):
        rg.why(torch.ones(2), 3)
