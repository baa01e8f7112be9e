"""Graphs that are like the one of the step before have the picture that a walk of their own gives them."""

from __future__ import annotations

import gc
import weakref

import pytest

from retrograd.inspect.graphs.graph import EDGE_COLUMNS, NODE_COLUMNS
from retrograd.inspect.process.recorder import recording
from retrograd.inspect.sources.torch_.backward.repeats import Repeats

torch = pytest.importorskip("torch")


def equal_steps():
    """Steps of a module."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    for _ in range(3):
        model(torch.ones(2, 3)).sum().backward()


def another_batch():
    """The same operations on other shapes, then with their dimensions the other way round."""
    w = torch.ones(3, requires_grad=True)
    for rows, columns in ((2, 6), (2, 6), (4, 3), (3, 4)):
        (torch.ones(rows * columns // 3, 3) * w).view(rows, columns).sin().sum().backward()


def another_dtype():
    """Results are double from the third step on."""
    w = torch.ones(3, requires_grad=True)
    for dtype in (torch.float32, torch.float32, torch.float64, torch.float64):
        (torch.ones(3, dtype=dtype) * w).sin().sum().backward()


def another_line():
    """One operation, by turns in one line and in another."""
    w = torch.ones(3, requires_grad=True)
    for step in range(4):
        if step % 2:
            h = w.sin()
        else:
            h = w.sin()
        h.sum().backward()


def another_edge():
    """The same classes, connected otherwise."""
    w = torch.ones(3, requires_grad=True)
    for first in (True, True, False):
        a = w.sin()
        b = a.sin()
        (b * (a if first else b)).sum().backward()


def another_sharing():
    """Two results of one operation, then one result that is used twice."""
    w = torch.ones(3, requires_grad=True)
    for twice in (False, False, True, True, False):
        a = w.sin()
        b = a if twice else w.sin()
        (a * b).sum().backward()


def another_operand():
    """A product whose shape does not follow from the leaf's alone."""
    w = torch.ones(3, requires_grad=True)
    for rows in (2, 2, 4, 4):
        (torch.ones(rows, 3) * w).relu().add(w).sum().backward()


def another_argument():
    """Shapes that differ by an argument alone: of the operator, of one before it, and of one behind it."""
    w = torch.ones(2, 2, 1, 2, requires_grad=True)
    forms = {
        torch.transpose: [(0, 1), (0, 2), (1, 2)],
        torch.permute: [((0, 1, 2, 3),), ((2, 0, 1, 3),)],
        torch.unsqueeze: [(0,), (4,)],
        torch.squeeze: [(2,), (-2,), (0,)],
        torch.select: [(0, 1), (2, 0)],
        torch.reshape: [((4, 2),), ((2, 4),), ((8,),)],
        torch.Tensor.expand: [((2, 2, 1, 2),), ((2, 2, 5, 2),), ((3, 2, 2, 1, 2),)],
        torch.mul: [(torch.ones(1),), (torch.ones(3, 1, 1, 1, 1),), (torch.ones(1, dtype=torch.float64),)],
        torch.softmax: [(0,), (1,), (1, torch.float64)],
    }
    for function, arguments in forms.items():
        for given in (one for one in (*arguments, *arguments) for _ in range(2)):
            function(w, *given).relu().exp().sum().backward()
            function(w.sin(), *given).clone().sum().backward()


def another_product():
    """Products of matrices that became longer, behind operators that say so and operators that do not."""
    w = torch.ones(3, 2, requires_grad=True)
    for rows in (4, 4, 6, 6, 4):
        x = torch.ones(rows, 3)
        (x @ w).view(2, rows // 2, 2).bmm((x @ w).view(2, 2, rows // 2)).softmax(-1).sum().backward()
        torch.addmm(w[0], (x * w[:, 0]).relu(), w).t().transpose(0, 1).sum().backward()


def another_chain():
    """Chains of functions of one operand, of other shapes and dtypes."""
    w, real = torch.full((3,), 0.5, requires_grad=True), (torch.erf, torch.nn.functional.logsigmoid)
    both = (torch.neg, torch.exp, torch.expm1, torch.log1p, torch.sqrt, torch.rsqrt, torch.cos, torch.sin, torch.log)
    more = (torch.nn.functional.softplus, torch.nn.functional.elu, torch.nn.functional.leaky_relu)
    float64, complex64 = torch.float64, torch.complex64
    for rows, dtype in ((2, None), (2, None), (4, None), (4, float64), (4, complex64), (4, complex64), (1, complex64)):
        result = torch.ones(rows, 3, dtype=dtype) * w
        for function in both if dtype is complex64 else (*both, *real, *more):
            result = function(result)
        result.abs().sum().backward()


def another_leaf():
    """A leaf that is made anew under the same name, and one whose memory is another's."""
    for size in (3, 3, 3):
        w = torch.ones(size, requires_grad=True)
        w.sin().sum().backward()
    v = torch.ones(3, requires_grad=True)
    for size in (3, 3, 4):
        v.data = torch.ones(size)
        v.grad = None
        v.sin().sum().backward()


def several_places():
    """Two losses by turns, of one module alone and behind another one, where its parameters are called otherwise."""
    inner, outer = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    for step in range(9):
        if step % 2 == 0:
            inner(torch.ones(2, 3)).sum().backward()
        else:
            inner(outer(torch.ones(2, 3))).square().sum().backward()


def own_functions():
    """Classes of the user's, of the same name, made anew each time."""

    def make():
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 2

        return Double

    w = torch.ones(3, requires_grad=True)
    kept = make()
    for function in (kept, kept, make()):
        function.apply(w).sum().backward()


PROGRAMS = [
    *(equal_steps, another_batch, another_dtype, another_line, another_edge, another_sharing, another_operand),
    *(another_argument, another_product, another_chain, another_leaf, several_places),
    own_functions,
]


def columns(program, level):
    """Every column of every graph of a program."""
    torch.manual_seed(0)
    with recording(level=level) as recorded:
        program()
    names = (*NODE_COLUMNS, *EDGE_COLUMNS, "roots", "root_names", "engine", "label")
    return [{name: getattr(snapshot, name) for name in names} for snapshot in recorded.graphs]


@pytest.mark.parametrize("level", ["graph", "backward", "full"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_pictures_are_those_of_a_walk(program, level, monkeypatch):
    """Column by column."""
    found = columns(program, level)
    monkeypatch.setattr(Repeats, "snapshot", lambda *args: None)

    assert found == columns(program, level)


@pytest.mark.parametrize(("program", "places"), [(equal_steps, 1), (several_places, 2)])
def test_equal_steps_are_repeated(program, places, monkeypatch):
    """Only the first two of equal steps are walked into columns, from each place that backward is called from."""
    walked = []
    learn = Repeats.learn
    monkeypatch.setattr(Repeats, "learn", lambda *args: (walked.append(1), learn(*args)))
    columns(program, "backward")

    assert len(walked) == 2 * places


def names_in_tables(level):
    """What tensors are called at last."""
    with recording(level=level) as recorded:
        several_places()
    return [(facts.name, facts.parameter) for facts in recorded.tensors]


@pytest.mark.parametrize("level", ["backward", "full"])
def test_the_latest_walk_names_tensors(level, monkeypatch):
    """Where two pictures name a leaf differently, its name is that of the later one, as if both were walked."""
    found = names_in_tables(level)
    monkeypatch.setattr(Repeats, "snapshot", lambda *args: None)

    assert found == names_in_tables(level)


def test_nothing_is_kept():
    """The picture that is remembered holds neither leaves nor nodes nor classes of the user."""
    references = []

    def step():
        class Held(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.kept = x.detach() * 1
                references.append(weakref.ref(ctx.kept))
                return x * 2

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 2

        w = torch.ones(3, requires_grad=True)
        references.extend([weakref.ref(w), weakref.ref(Held)])
        Held.apply(w).sum().backward()

    with recording(level="backward"):
        for _ in range(3):
            step()
            gc.collect()
            assert [reference() for reference in references] == [None] * len(references)
