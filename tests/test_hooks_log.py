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


def without_addresses(lines):
    """Lines with the nodes' addresses taken out."""
    return [re.sub(r"<(\S+) object at 0x\w+>", r"<\1>", line) for line in lines]


def test_lines(engine):
    """Each node is logged once, in execution order, with dtype and shape of its incoming gradients."""
    x = engine.ones(2, 3, requires_grad=True)
    lines: list[str] = []
    loss = (x * x).sum()
    with log_hooks(loss, lines.append):
        loss.backward()

    assert without_addresses(lines) == [
        "Executing: <SumBackward0> with grad_outputs: [f32[]]",
        "Executing: <MulBackward0> with grad_outputs: [f32[2, 3]]",
        "Executing: <AccumulateGrad> with grad_outputs: [f32[2, 3]]",
    ]


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

    assert without_addresses(lines) == [
        "Executing: <UnbindBackward0> with grad_outputs: [f32[3],None]",
        "Executing: <AccumulateGrad> with grad_outputs: [f32[2, 3]]",
        "Executing: <SumBackward0> with grad_outputs: [f64[]]",
        "Executing: <AccumulateGrad> with grad_outputs: [f64[3]]",
    ]


def test_same_lines_as_torch():
    """PyTorch's own logging hooks give the same lines for the same graph."""
    torch = pytest.importorskip("torch")
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    loss = layer(torch.randn(2, 3, 8)).sum()
    lines: list[str] = []
    with logged("torch.autograd.graph", logging.DEBUG) as theirs, log_hooks(loss, lines.append):
        loss.backward()

    assert len(lines) > 30
    assert lines == [record.getMessage() for record in theirs]


def test_post_hooks(engine):
    """Verbose adds one line per node with the gradients it passes on."""
    x = engine.ones(3, requires_grad=True)
    loss = (x * 2).sum()
    lines: list[str] = []
    with log_hooks(loss, lines.append, verbose=True):
        loss.backward()

    assert without_addresses(lines) == [
        "Executing: <SumBackward0> with grad_outputs: [f32[]]",
        "Executed: <SumBackward0> with grad_inputs: [f32[3]]",
        "Executing: <MulBackward0> with grad_outputs: [f32[3]]",
        "Executed: <MulBackward0> with grad_inputs: [f32[3],None]",
        "Executing: <AccumulateGrad> with grad_outputs: [f32[3]]",
        "Executed: <AccumulateGrad> with grad_inputs: []",
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
