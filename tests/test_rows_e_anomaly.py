"""SPEC rows E-23 to E-26: anomaly mode."""

from __future__ import annotations

import re
import warnings

import pytest
from both_engines import differential, raises, warned
from custom_functions import squaring

import retrograd


def failing(torch, text="broken"):
    """A Function whose backward raises."""

    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise LookupError(text)

    return Fails.apply


def texts_of(call):
    """Messages of the warnings of a call, and type and text of the exception it raised."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = ""
        try:
            call()
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    return [str(w.message) for w in caught], error


def skeleton(text):
    """The fixed sentences of a warning, without tracebacks."""
    return re.findall(r"Error detected in [\w.:]+\.[\w ]*|Traceback of forward call that [\w ]*:|No forward pass[^.]*\."
                      r"|Previous calculation was induced by [\w:]+\.", text)  # fmt: skip


@differential
def test_E_23_switching(torch):
    """E-23: the context warns when made and acts on entering; the function acts at once; both restore both settings."""
    ag = torch.autograd
    state = []

    def note():
        state.append((torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()))

    names, context = warned("Anomaly Detection has been enabled", ag.detect_anomaly)
    note()
    with context:
        note()
        with ag.set_detect_anomaly(True, check_nan=False):
            note()
        note()
    note()
    silent, _ = warned("", ag.set_detect_anomaly, True, check_nan=False)
    note()
    _, inner = warned("", ag.detect_anomaly, check_nan=True)
    try:
        with inner:
            note()
            raise KeyError("x")
    except KeyError:
        pass
    note()
    ag.set_detect_anomaly(False)
    note()
    return names, silent, state


@differential
def test_E_24_forward_trace(torch):
    """E-24: an error in a node comes with a warning that names it and shows the forward call."""
    a = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = failing(torch)(a * 2).sum()
        messages, error = texts_of(y.backward)
    with_trace = skeleton(messages[0]), error, len(messages), "test_rows_e_anomaly.py" in messages[0]
    z = failing(torch)(a * 2).sum()
    with torch.autograd.set_detect_anomaly(True):
        messages, error = texts_of(z.backward)
    without_trace = skeleton(messages[0]), error, len(messages)
    off = texts_of(failing(torch)(a).sum().backward)
    return with_trace, without_trace, off


@differential
def test_E_24_version_errors_and_hooks(torch):
    """E-24: errors of the engine and of node hooks are traced, too, once each."""
    found = []
    a = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        x = a.clone()
        y = x.sin()
        x.mul_(2)
        messages, error = texts_of(y.sum().backward)
        found.append(([skeleton(m) for m in messages], "the backtrace further above" in error, error[:12]))
        z = a.exp()
        z.grad_fn.register_hook(lambda i, o: 3)
        messages, error = texts_of(z.sum().backward)
        found.append(([skeleton(m) for m in messages], error[:9]))
    return found


@differential
def test_E_24_nested_runs(torch):
    """E-24: an error in a backward inside a backward is traced for the inner node and for the outer one."""

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                failing(torch)(torch.ones(2, requires_grad=True)).sum().backward()
            return g

    a = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        messages, error = texts_of(Outer.apply(a).sum().backward)
    return [skeleton(m) for m in messages], error


def test_E_24_the_trace_ends_at_the_user_call():
    """E-24: the traceback ends with the user's line, for operators, in-place writes, views and custom Functions."""
    a = retrograd.ones(2, requires_grad=True)
    with retrograd.autograd.set_detect_anomaly(True):
        made = [
            a.exp(),  # here
            (a * 1).add_(1),  # here
            a.view(2, 1),  # here
            failing(retrograd)(a),  # here
            retrograd.nn.functional.relu(a),  # here
        ]
        (g,) = retrograd.autograd.grad((a * a).sum(), a, create_graph=True)  # here
    for t in (*made, g):
        assert "# here" in t.grad_fn.metadata["traceback_"][-1]


@differential
def test_E_25_parents(torch):
    """E-25: an error in a node made during a backward names the node that made it, and so on."""
    square = squaring(torch, lambda x, g: failing(torch)(g * 2 * x))
    a = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = square.apply(a).sum()
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        messages, error = texts_of(g.sum().backward)
    return [skeleton(m) for m in messages], error


@differential
def test_E_25_grandparents(torch):
    """E-25: every ancestor is named, one without a trace as such."""
    a = torch.tensor([2.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = a**4
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        parent = g.grad_fn.metadata["parent_"].name()
        (h,) = torch.autograd.grad(g, a, create_graph=True)
        grandparent = h.grad_fn.metadata["parent_"].metadata["parent_"].name()
    return parent, grandparent


@differential
def test_E_26_nan(torch):
    """E-26: NaN among a node's results is an error with node and position; infinities and check_nan=False are not."""

    class Gives(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, value):
            ctx.value = value
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, g * ctx.value, None

    a = torch.zeros(2, requires_grad=True)
    plain = torch.ones(2)
    nan, inf = float("nan"), float("inf")
    backward = torch.autograd.backward
    found = []
    with torch.autograd.set_detect_anomaly(True):
        quotient = (a / a).sum()
        messages, error = texts_of(quotient.backward)
        found.append((skeleton(messages[0]), error))
        found.append(texts_of(Gives.apply(a, a, nan).sum().backward)[1])
        found.append(texts_of(Gives.apply(a, plain, nan).sum().backward)[1])
        found.append(texts_of(Gives.apply(a, a, inf).sum().backward)[1])
        found.append(texts_of(lambda: backward([a], [torch.tensor([nan, 1.0])]))[1])
        found.append(texts_of(lambda: backward([a.view(2)], [torch.tensor([nan, 1.0])]))[1])
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        found.append(texts_of((a / a).sum().backward)[1])
    return found


@differential
def test_E_26_after_post_hooks(torch):
    """E-26: the check sees what post hooks made of the results."""
    a = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = a.exp()
        y.grad_fn.register_hook(lambda i, o: (i[0] * float("nan"),))
        first = texts_of(y.sum().backward)[1]
        z = (a * 0).log()
        z.grad_fn.register_hook(lambda i, o: (torch.zeros(2),))
        second = texts_of((z * 0).sum().backward)[1]
    return first, second, raises("", z.sum().backward)


def test_E_26_the_position_is_that_of_the_input():
    """E-26: the number counts the operands, also those that need no gradient."""

    class Second(retrograd.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return None, g * float("nan")

    a = retrograd.ones(1, requires_grad=True)
    with retrograd.autograd.set_detect_anomaly(True):
        messages, error = texts_of(Second.apply(retrograd.ones(1), a).backward)
    assert skeleton(messages[0])[0].startswith("Error detected in SecondBackward")
    assert error == "RuntimeError: Function 'SecondBackward' returned nan values in its 1th output."


def test_E_24_warnings_that_are_errors(capsys):
    """E-24: where warnings are errors, the explained error comes out, and the traceback of forward on stderr."""
    a = retrograd.ones(3, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mode = retrograd.autograd.detect_anomaly()
    with mode, warnings.catch_warnings():
        warnings.simplefilter("error")
        b = a + 1
        c = b**2
        b += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            retrograd.autograd.grad(c.sum(), a)

    told = capsys.readouterr().err
    assert "Error detected in PowBackward0" in told
    assert "c = b**2" in told
