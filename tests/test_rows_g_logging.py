"""SPEC rows G-53 to G-56: one log line per node that backward executes."""

from __future__ import annotations

import logging
import re
import subprocess
import sys

import pytest
from both_engines import differential, raises

import retrograd
from retrograd.engine.execution.logging_ import iter_graph

LOGGER = "torch.autograd.graph"


class Lines(logging.Handler):
    """Collects messages, without addresses, while it is open."""

    def __init__(self, level=logging.DEBUG):
        super().__init__()
        self.found, self.wanted = [], level

    def emit(self, record):
        text = re.sub(r"0x[0-9a-f]+", "0x", record.getMessage())
        self.found.append((record.levelname, re.sub(r"<[\w.<>]*?(\w+) object", r"<\1 object", text)))

    def __enter__(self):
        self.before = logging.getLogger(LOGGER).level
        logging.getLogger(LOGGER).addHandler(self)
        logging.getLogger(LOGGER).setLevel(self.wanted)
        return self.found

    def __exit__(self, *_):
        logging.getLogger(LOGGER).removeHandler(self)
        logging.getLogger(LOGGER).setLevel(self.before)


def pre_hook_count(roots):
    """How many pre hooks the whole graph has."""
    return sum(len(n._extra.pre_hooks or ()) if n._extra else 0 for n in iter_graph(roots))


@differential
def test_G_53_register_and_remove(torch):
    """G-53: every node of the graph is logged until the hooks are removed, also when backward raised."""
    register = torch.autograd.graph._register_logging_hooks_on_whole_graph
    a = torch.ones(3, requires_grad=True)
    y = (a * a).sum()
    found = []
    with Lines(logging.INFO) as lines:
        logging.getLogger(LOGGER).setLevel(logging.DEBUG)
        remove = register([y])
        logging.getLogger(LOGGER).setLevel(logging.INFO)
        y.backward(retain_graph=True)
        found.append(list(lines))
        logging.getLogger(LOGGER).setLevel(logging.DEBUG)
        remove()
    with Lines() as lines:
        edge = torch.autograd.graph.get_gradient_edge(y)
        remove = register([edge])
        remove()
        remove()
        nothing = register([])
        nothing()
    return found, list(lines), raises("Expected gradient function to be set", register, [torch.ones(1)])


def test_G_53_removed_after_an_error():
    """G-53: no hook stays on the graph when backward raised."""
    a = retrograd.ones(3, requires_grad=True)
    y = a * 2
    y.register_hook(lambda g: g.no_such_method())
    total = y.sum()
    with Lines() as lines, pytest.raises(AttributeError):
        total.backward()
    assert len(lines) == 1
    assert pre_hook_count([total.grad_fn]) == 0


@differential
def test_G_54_format(torch):
    """G-54: dtype and sizes of each incoming gradient, None for a missing one."""
    a = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    c = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    h = torch.ones(2, dtype=torch.float16, requires_grad=True)
    first, _ = torch.ones(2, 3, requires_grad=True).unbind()
    with Lines() as lines:
        a.sum().backward()
        (c * c.conj()).sum().real.backward()
        h.clone().backward(torch.ones(2, dtype=torch.float16))
        first.sum().backward()
    return [line for line in lines if not re.search("Conj|RealB|ComplexB", line[1])]


def test_G_54_custom_function_has_its_qualified_class():
    """G-54: a custom node appears with module and class name."""

    class Same(retrograd.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    y = Same.apply(retrograd.ones(1, requires_grad=True)).sum()
    texts = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())
    with Lines():
        logging.getLogger(LOGGER).addHandler(handler)
        y.backward()
        logging.getLogger(LOGGER).removeHandler(handler)
    assert re.fullmatch(
        r"Executing: <[\w.]+\.SameBackward object at 0x[0-9a-f]+> with grad_outputs: \[f32\[1\]\]", texts[1]
    )


@differential
def test_G_55_order(torch):
    """G-55: lines come in the engine's order, each node once per task."""
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    x = a * b
    y = x.exp()
    z = (x * y + a).sum()
    with Lines() as lines:
        z.backward(retain_graph=True)
        z.backward(inputs=[a])
    return lines


def test_G_55_walk():
    """G-55: breadth first, roots in order, each node once, a shared node where it is first met."""
    a = retrograd.ones(2, requires_grad=True)
    x = a * 2
    y = x.exp()
    roots = [y.grad_fn, None, x.sum().grad_fn, y.grad_fn]
    assert [n.name() for n in iter_graph(roots)] == [
        "ExpBackward0", "SumBackward0", "MulBackward0", "torch::autograd::AccumulateGrad",
    ]  # fmt: skip


@differential
def test_G_56_gateway(torch):
    """G-56: backward and grad log at DEBUG and not at INFO; a root without grad fails differently under DEBUG."""
    a = torch.ones(2, requires_grad=True)
    y = a.exp().sum()
    with Lines(logging.INFO) as quiet:
        y.backward(retain_graph=True)
        info = raises("does not require grad", torch.ones(1).backward)
    with Lines() as loud:
        torch.autograd.grad(y, a, retain_graph=True)
        y.backward()
        debug = raises("Expected gradient function to be set", torch.ones(1).backward)
    return quiet, loud, info, debug


def test_G_56_without_importing_the_graph_module():
    """G-56: the logger works for a program that only imports retrograd; logging is not imported for others."""
    program = (
        "import sys, retrograd as torch\n"
        "assert 'logging' not in sys.modules\n"
        "y = torch.ones(1, requires_grad=True).sum()\n"
        "y.backward(retain_graph=True)\n"
        "import logging; logging.basicConfig(stream=sys.stdout)\n"
        "logging.getLogger('torch.autograd.graph').setLevel(logging.DEBUG)\n"
        "y.backward()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.count("Executing: ") == 2


ROOT_AT_DEBUG = """
import logging
logging.basicConfig(level=logging.DEBUG)
import {module} as torch
(torch.ones(2, requires_grad=True) * 2).sum().backward()
"""


@pytest.mark.parametrize("module", ["torch", "retrograd"])
def test_a_programs_own_root_level_does_not_switch_node_logging_on(module):
    """As with PyTorch, whose ``torch`` logger has a level of its own."""
    pytest.importorskip(module)
    done = subprocess.run(
        [sys.executable, "-c", ROOT_AT_DEBUG.format(module=module)], capture_output=True, text=True, timeout=100
    )

    assert done.returncode == 0
    assert "Executing:" not in done.stderr


def test_G_54_the_logger_of_this_package():
    """G-54: DEBUG on ``retrograd.autograd`` logs each node there, as PyTorch does on ``torch.autograd``."""
    code = """
import logging, sys
import retrograd as rg

logging.basicConfig(level=logging.WARNING, format="%(name)s %(message)s", stream=sys.stdout)
logging.getLogger("retrograd.autograd").setLevel(logging.DEBUG)
a = rg.ones(3, requires_grad=True)
a.mul(2).sum().backward()
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    lines = [re.sub(r"<(\w+) object at 0x[0-9a-f]+>", r"\1", line) for line in out.splitlines()]

    assert lines == [
        "retrograd.autograd.graph Executing: SumBackward0 with grad_outputs: [f32[]]",
        "retrograd.autograd.graph Executing: MulBackward0 with grad_outputs: [f32[3]]",
        "retrograd.autograd.graph Executing: AccumulateGrad with grad_outputs: [f32[3]]",
    ]
