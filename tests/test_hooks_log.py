"""``log_hooks``: one line per node as it executes (SPEC rows G-53, G-54, G-55), on both engines."""

from __future__ import annotations

import io
import logging
import re
import sys
from contextlib import contextmanager

import pytest

import retrograd
from retrograd.errors import NoGraphError, NotATensorError
from retrograd.inspect import log_hooks


@pytest.fixture(params=["retrograd", "torch"])
def engine(request):
    """Both engines, one after the other."""
    return retrograd if request.param == "retrograd" else pytest.importorskip("torch")


@contextmanager
def logged(name, level):
    """The records that reach a logger, which lets pass those of this level and above."""
    records, logger, handler = [], logging.getLogger(name), logging.Handler()
    handler.emit = records.append
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield records
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


def test_lines(engine):
    """Each node is logged once, in execution order: its name, dtype, shape and norm of what arrives."""
    x = engine.ones(2, 3, requires_grad=True)
    lines: list[str] = []
    loss = (x * x).sum()
    with log_hooks(loss, lines.append):
        loss.backward()

    assert lines == [
        "n0 SumBackward0 of loss gets f32[] norm 1",
        "n1 MulBackward0 gets f32[2, 3] norm 2.449",
        "n2 AccumulateGrad of x gets f32[2, 3] norm 4.899",
    ]


def test_two_runs_can_be_compared(engine):
    """In a recorded block lines say parameter, module and line of the program, and are the same in a second run."""

    def run():
        lines: list[str] = []
        engine.manual_seed(0)
        with retrograd.debug(level="graph"):
            net = engine.nn.Sequential(engine.nn.Linear(3, 2), engine.nn.ReLU())
            loss = net(engine.ones(4, 3)).sum()
            with log_hooks(loss, lines.append):
                loss.backward()
        return lines

    first = run()
    assert first == run()
    assert [line for line in first if re.match(r"n\d AccumulateGrad of .*0\.weight.* gets f32\[2, 3\] norm \d", line)]
    assert re.match(r"n1 ReluBackward0 in net/1 \(test_hooks_log\.py:\d+\) gets f32\[4, 2\] norm 2\.828$", first[1]), (
        first
    )


def test_missing_gradients_and_dtypes(engine):
    """An unused output of a node is None; other dtypes have their own abbreviation (SPEC row G-54)."""
    x = engine.ones(2, 3, requires_grad=True)
    lines: list[str] = []
    first, _ = x.unbind(0)
    with log_hooks(first, lines.append):
        first.sum().backward()
    y = engine.ones(3, dtype=engine.float64, requires_grad=True)
    loss = y.sum()
    with log_hooks(loss, lines.append):
        loss.backward()

    assert lines == [
        "n0 UnbindBackward0 of first, _ gets f32[3] norm 1.732, None",
        "n1 AccumulateGrad of x gets f32[2, 3] norm 1.732",
        "n0 SumBackward0 of loss gets f64[] norm 1",
        "n1 AccumulateGrad of y gets f64[3] norm 1.732",
    ]


def test_nodes_in_the_order_of_torch():
    """PyTorch's own logging hooks name the same nodes in the same order, with the same dtypes and shapes."""
    torch = pytest.importorskip("torch")
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    loss = layer(torch.randn(2, 3, 8)).sum()
    lines: list[str] = []
    with logged("torch.autograd.graph", logging.DEBUG) as theirs, log_hooks(loss, lines.append):
        loss.backward()

    form = re.compile(r"Executing: <(\S+) object.*grad_outputs: \[(.*)\]")
    wanted = [form.match(record.getMessage()).groups() for record in theirs]
    bare = (re.sub(r" norm [^,]+", "", line).replace("], ", "],") for line in lines)
    ours = [re.match(r"n\d+ (\S+) .*?gets (.*)", line).groups() for line in bare]
    assert len(lines) > 30
    assert ours == wanted


def test_post_hooks(engine):
    """Verbose adds one line per node with the gradients it passes on."""
    x = engine.ones(3, requires_grad=True)
    loss = (x * 2).sum()
    lines: list[str] = []
    with log_hooks(loss, lines.append, verbose=True):
        loss.backward()

    assert lines == [
        "n0 SumBackward0 of loss gets f32[] norm 1",
        "n0 SumBackward0 of loss passes on f32[3] norm 1.732",
        "n1 MulBackward0 gets f32[3] norm 1.732",
        "n1 MulBackward0 passes on f32[3] norm 3.464, None",
        "n2 AccumulateGrad of x gets f32[3] norm 3.464",
        "n2 AccumulateGrad of x passes on nothing",
    ]


def test_all_hooks_are_removed(engine):
    """After the block the same graph runs without a line, also when backward raised inside the block."""
    x = engine.ones(3, requires_grad=True)
    loss = (x * 2).sum()
    lines: list[str] = []
    loss.register_hook(lambda grad: {}["no such key"])
    with pytest.raises(KeyError), log_hooks(loss, lines.append):
        loss.backward()
    seen = len(lines)
    with pytest.raises(KeyError):
        loss.backward()
    assert len(lines) == seen

    other = x.exp().sum()
    with log_hooks(other, lines.append):
        pass
    other.backward()
    assert len(lines) == seen


def test_gradients_are_unchanged(engine):
    """The hooks replace nothing: gradients are those of a run without them."""
    x = engine.ones(3, requires_grad=True)
    loss = (x.exp() * x).sum()
    (alone,) = engine.autograd.grad(loss, x, retain_graph=True)
    with log_hooks(loss, lambda line: "ignored", verbose=True):
        (logged,) = engine.autograd.grad(loss, x)

    assert alone.tolist() == logged.tolist()


def test_logger(engine):
    """Lines go to the logger `retrograd.inspect` at DEBUG, or the level asked for."""
    x = engine.ones(3, requires_grad=True)
    with logged("retrograd.inspect", logging.INFO) as records:
        with log_hooks(quiet := x.sum()):
            quiet.backward()
        assert records == []
        with log_hooks(loud := x.sum(), level=logging.INFO):
            loud.backward()

    assert [(record.name, record.levelno) for record in records] == [("retrograd.inspect", logging.INFO)] * 2


def test_stream(engine):
    """A stream gets one line per node."""
    x = engine.ones(3, requires_grad=True)
    stream = io.StringIO()
    with log_hooks(loss := x.sum(), stream):
        loss.backward()

    assert stream.getvalue().count("\n") == 2


def test_shared_nodes_and_several_roots(engine):
    """A node behind two roots is hooked once; roots may be nodes and gradient edges."""
    x = engine.ones(3, requires_grad=True)
    y = x.exp()
    left, right = y.sum(), (y * 2).sum()
    lines: list[str] = []
    with log_hooks([left, right.grad_fn], lines.append):
        engine.autograd.backward([left, right])

    assert len(lines) == 5


def test_empty_list_and_no_graph(engine):
    """An empty list logs nothing (SPEC row G-53); an output without graph and no tensor are refused."""
    with log_hooks([]):
        pass
    with pytest.raises(NoGraphError, match="no backward graph"), log_hooks([engine.ones(3)]):
        pass
    with pytest.raises(NotATensorError), log_hooks("loss"):
        pass


def test_tensors_are_not_held(engine):
    """A loss dropped inside the block is gone at once."""
    import gc
    import weakref

    x = engine.ones(3, requires_grad=True)
    loss = x.sum()
    gone = weakref.ref(loss)
    gc.disable()
    try:
        with log_hooks(loss):
            del loss
            assert gone() is None
    finally:
        gc.enable()


def test_deep_graph():
    """A chain far deeper than the recursion limit is logged node by node."""
    h = retrograd.ones(2, requires_grad=True)
    depth = 5 * sys.getrecursionlimit()
    for _ in range(depth):
        h = h * 1.0
    lines: list[str] = []
    with log_hooks(h, lines.append):
        h.sum().backward()

    assert len(lines) == depth + 1
