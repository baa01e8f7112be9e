"""SPEC rows E-17 to E-22: errors, nested runs, callbacks, introspection, threads, switches; and large graphs."""

from __future__ import annotations

import contextvars
import gc
import sys
import threading

import pytest
from both_engines import differential, raises
from custom_functions import nested

import retrograd


def in_threads(count, work):
    """Run ``work(i)`` in threads that start together; the exceptions they raised."""
    barrier = threading.Barrier(count, timeout=300)
    errors = []

    def run(i):
        barrier.wait()
        try:
            work(i)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def calling(torch, in_backward):
    """A Function that calls something in its backward and passes the gradient on."""

    class Calls(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            in_backward()
            return g

    return Calls.apply


@differential
def test_E_17_errors(torch):
    """E-17: the first exception ends the run with its own type; what was accumulated stays; the next run works."""
    ran = []

    def fail():
        raise LookupError("mine")

    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    bad = calling(torch, fail)(b.exp())
    good = a * 3
    bad.register_hook(lambda g: ran.append("bad"))
    b.register_hook(lambda g: ran.append("b"))
    error = raises("mine", (good.sum() + bad.sum()).backward)
    outside = torch._C._current_graph_task_id(), torch._C._current_autograd_node(), torch.is_grad_enabled()
    after = a.grad.clone(), b.grad
    (a * b).sum().backward()
    return error, ran, outside, after, a.grad, b.grad


@differential
def test_E_17_errors_in_hooks(torch):
    """E-17: exceptions of every kind of hook come out unchanged, and grad mode is as before."""
    found = []

    def fail(*_):
        raise KeyError("hook")

    places = (
        lambda a, y: a.register_hook(fail), lambda a, y: y.register_hook(fail),
        lambda a, y: y.grad_fn.register_hook(fail), lambda a, y: y.grad_fn.register_prehook(fail),
        lambda a, y: a.register_post_accumulate_grad_hook(fail),
    )  # fmt: skip
    for place in places:
        a = torch.ones(2, requires_grad=True)
        y = a.exp()
        place(a, y)
        total = y.sum()
        with torch.no_grad():
            found.append((raises("hook", total.backward), torch.is_grad_enabled()))
    return found


@differential
def test_E_18_order(torch):
    """E-18: a backward inside a node runs to its end before pending outer nodes go on."""
    order = []

    def inner():
        with torch.enable_grad():
            x = torch.ones(1, requires_grad=True)
            first = x * 2
            second = first * 3
        order.append("begin")
        first.register_hook(lambda g: order.append("inner1"))
        second.register_hook(lambda g: order.append("inner2"))
        second.backward()
        order.append(("end", x.grad))

    a = torch.ones(1, requires_grad=True)
    p = a.exp()
    p.register_hook(lambda g: order.append("P"))
    r = calling(torch, inner)(a)
    r.register_hook(lambda g: order.append("R"))
    (p + r).backward()
    return order, a.grad


@differential
def test_E_18_shared_graph(torch):
    """E-18: inner runs accumulate into leaves of the outer one, from nodes and from hooks, and nest."""
    a = torch.tensor([2.0], requires_grad=True)

    def again(depth):
        with torch.enable_grad():
            y = a * a
            if depth:
                y = calling(torch, lambda: again(depth - 1))(y)
            y.backward()

    y = calling(torch, lambda: again(3))(a * 1)
    y.backward()
    return a.grad


@differential
def test_E_18_errors_surface_outside(torch):
    """E-18: an error of an inner run ends the outer one, unless it is caught in the node."""

    def fail():
        raise KeyError("inner")

    def caught():
        with torch.enable_grad():
            raises("inner", calling(torch, fail)(torch.ones(1, requires_grad=True)).backward)

    a = torch.ones(1, requires_grad=True)

    def not_caught():
        with torch.enable_grad():
            calling(torch, fail)(torch.ones(1, requires_grad=True)).backward()

    calling(torch, caught)(a).backward()
    return a.grad, raises("inner", calling(torch, not_caught)(a).backward), torch._C._current_graph_task_id()


# From its 60th level on PyTorch takes threads of its own, after which no child of this process could run backward.
@pytest.mark.parametrize(("engine", "levels"), [("torch", 50), ("retrograd", 200)])
def test_E_18_many_levels(engine, levels):
    """E-18: nested runs do not exhaust the Python stack, grad mode and context variables reach the innermost."""
    torch = pytest.importorskip(engine)
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("outer")
    seen = []
    deep = nested(torch, lambda: seen.append((variable.get(), torch.is_grad_enabled())))
    a = torch.ones(1, requires_grad=True)
    deep.apply(a, levels).backward()
    assert a.grad.item() == levels + 1
    assert seen[0][1] is False
    if engine == "retrograd":  # PyTorch hands context variables to its own threads only in newer versions
        assert seen[0][0] == "outer"


def test_E_18_error_at_depth():
    """E-18: an error on the innermost of 100 levels comes out as it is, and the engine is usable again."""

    def innermost():
        raise LookupError("at the bottom")

    a = retrograd.ones(1, requires_grad=True)
    with pytest.raises(LookupError, match="at the bottom"):
        nested(retrograd, innermost).apply(a, 100).backward()
    assert retrograd._C._current_graph_task_id() == -1
    from retrograd.engine.switches import state

    assert state.MODE == 0
    (a * 2).backward()
    assert a.grad.item() == 2.0


@differential
def test_E_19_callbacks(torch):
    """E-19: run in order after all nodes, may add more, in the grad mode of the run; refused outside of backward."""
    queue = torch.autograd.Variable._execution_engine.queue_callback
    order = []
    a = torch.ones(1, requires_grad=True)

    def first():
        order.append(("first", torch.is_grad_enabled(), None if a.grad is None else a.grad.clone()))
        queue(lambda: order.append("third"))

    def in_backward():
        queue(first)
        queue(lambda: order.append("second"))
        order.append(("node", torch.is_grad_enabled()))

    y = calling(torch, in_backward)(a)
    y.backward()

    def failing():
        queue(fail)

    def fail():
        raise KeyError("callback")

    return (
        order, raises("callback", calling(torch, failing)(a).backward),
        raises("Final callbacks can only be installed during backward pass", queue, first),
    )  # fmt: skip


@differential
def test_E_20_introspection(torch):
    """E-20: task id, running node, what will execute; -1 and None outside; errors for misuse."""
    c = torch._C
    seen = []
    a = torch.ones(1, requires_grad=True)
    other = torch.ones(1, requires_grad=True) * 2
    x = a * 2
    y = x.exp() * 1
    nodes = x.grad_fn, y.grad_fn.next_functions[0][0], other.grad_fn, torch.autograd.graph.get_gradient_edge(a).node

    def look(g):
        seen.append(c._current_autograd_node())
        seen.append([c._will_engine_execute_node(n) for n in nodes])
        seen.append(c._autograd._get_current_graph_task_keep_graph())
        seen.append(c._current_graph_task_id() >= 0)
        seen.append(raises("expects an grad_fn", c._will_engine_execute_node, 3))

    handle = x.register_hook(look)
    ids = []
    y.register_hook(lambda g: ids.append(c._current_graph_task_id()))
    y.backward(retain_graph=True)
    torch.autograd.grad(y, x, retain_graph=True)
    y.backward(inputs=[x], retain_graph=True)
    y.backward(inputs=[a])
    handle.remove()
    outside = c._current_graph_task_id(), c._current_autograd_node(), c._autograd._get_current_graph_task_keep_graph()
    return (
        seen, len(set(ids)), ids == sorted(ids), outside,
        raises("should only be called during the backward pass", c._will_engine_execute_node, nodes[0]),
        raises("should only be called during the backward pass", c._current_graph_task_execution_order),
    )  # fmt: skip


def test_E_20_a_root_executes():
    """E-20: the root of a backward counts as executing (PyTorch says no, so that multi-grad hooks fire too early)."""
    a = retrograd.ones(1, requires_grad=True)
    y = a * 2
    seen = []
    y.register_hook(lambda g: seen.append(retrograd._C._will_engine_execute_node(y.grad_fn)))
    retrograd.autograd.graph.register_multi_grad_hook((a, y), lambda grads: seen.append([g.item() for g in grads]))
    y.backward()
    assert seen == [True, [2.0, 1.0]]


@differential
def test_E_20_execution_order(torch):
    """E-20: the order of the current task, in restricted runs too; needs multithreading disabled."""
    c = torch._C
    a = torch.ones(1, requires_grad=True)
    b = torch.ones(1, requires_grad=True)
    x, y = a * 2, b.exp()
    z = x * y
    total = z.sin() + x
    ran, predicted = [], []
    nodes = {n: n for n in (t.grad_fn for t in (x, y, z, total))}
    for n in nodes:
        n.register_hook(lambda *_, n=n: ran.append(n.name()))
    handle = total.register_hook(lambda g: predicted.extend(n.name() for n in c._current_graph_task_execution_order()))
    with torch.autograd.set_multithreading_enabled(False):
        total.backward(retain_graph=True)
        total.backward(inputs=[a], retain_graph=True)
        torch.autograd.grad(total, y, retain_graph=True)
    handle.remove()
    total.register_hook(lambda g: c._current_graph_task_execution_order())
    return predicted, ran, raises("multithreading disabled", total.backward)


def test_E_21_eight_threads_add_up():
    """E-21: 8 threads through shared leaves give the exact sum, with plain and with created graphs."""
    a = retrograd.ones(64, requires_grad=True)
    b = retrograd.ones(64, requires_grad=True)

    def work(i):
        for _ in range(25):
            (a * b * (i + 1)).sum().backward()

    assert in_threads(8, work) == []
    assert a.grad.tolist() == b.grad.tolist() == [25.0 * 36] * 64
    c = retrograd.ones(3, requires_grad=True)

    def create(i):
        for _ in range(10):
            y = (c * 2).sum()
            with retrograd.enable_grad():
                (g,) = retrograd.autograd.grad(y, c, create_graph=True)
            (c * g.detach()).sum().backward()

    assert in_threads(8, create) == []
    assert c.grad.tolist() == [160.0] * 3


def test_E_21_one_accumulator_per_leaf():
    """E-21: threads that use a fresh leaf at the same time see one accumulator, so node hooks count for all."""
    for _ in range(50):
        a = retrograd.ones(1, requires_grad=True)
        nodes = [None] * 4

        def find(i, a=a, nodes=nodes):
            nodes[i] = (a * 2).grad_fn.next_functions[0][0]

        assert in_threads(4, find) == []
        assert len(set(nodes)) == 1


def test_E_21_shared_retained_graph():
    """E-21: one retained graph run by 8 threads at once gives each run's full gradient."""
    a = retrograd.ones(16, requires_grad=True)
    y = a
    for _ in range(20):
        y = y * 1.0 + y * 0.5 - y * 0.5
    loss = y.sum()
    assert in_threads(8, lambda i: loss.backward(retain_graph=True)) == []
    assert a.grad.tolist() == [8.0] * 16


def test_E_21_losers_of_a_shared_graph_fail():
    """E-21: threads that share a graph that is not retained get the "second time" error or all of the gradient."""
    a = retrograd.ones(4, requires_grad=True)
    loss = (a.exp().exp() * 0).sum()
    errors = in_threads(4, lambda i: loss.backward())
    assert len(errors) <= 3
    assert all(isinstance(e, RuntimeError) and "second time" in str(e) for e in errors)
    assert a.grad.tolist() == [0.0] * 4


@differential
def test_E_21_what_is_local_to_a_thread(torch):
    """E-21: grad mode, hooks and inference mode are a thread's own; anomaly mode is everybody's."""
    seen = []

    def look():
        seen.extend([torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()])
        seen.append(torch.ones(1, requires_grad=True).exp().requires_grad)

    def in_thread():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    with torch.no_grad(), torch.autograd.set_detect_anomaly(True):
        in_thread()
    with torch.inference_mode():
        in_thread()
    return seen


@differential
def test_E_21_runs_on_the_calling_thread(torch):
    """E-21: nodes and hooks run on the thread that called backward."""
    seen = []
    a = torch.ones(1, requires_grad=True)
    y = calling(torch, lambda: seen.append(threading.get_ident()))(a)
    a.register_hook(lambda g: seen.append(threading.get_ident()))
    y.backward()
    return [ident == threading.get_ident() for ident in seen]


@differential
def test_E_22_switches(torch):
    """E-22: both switches work as function, context manager and decorator and restore what was."""
    ag = torch.autograd
    is_on = ag.is_multithreading_enabled
    found = [is_on()]
    with ag.set_multithreading_enabled(False):
        found.append(is_on())
        with ag.set_multithreading_enabled(True):
            found.append(is_on())
        found.append(is_on())
    found.append(is_on())

    @ag.set_multithreading_enabled(False)
    def decorated():
        return is_on()

    found.append(decorated())
    ag.set_multithreading_enabled(False)
    found.append(is_on())
    ag.set_multithreading_enabled(True)
    layout = torch._C._is_grad_layout_enforcement_enabled
    found.append(layout())
    with ag.enforce_grad_layout_policy(False):
        found.append(layout())
    found.append(layout())
    return found


def test_E_22_decorating_restores():
    """E-22: making a decorator leaves the switch as it was (PyTorch leaves multithreading switched off)."""
    ag = retrograd.autograd
    ag.set_multithreading_enabled(False)(lambda: None)()
    assert ag.is_multithreading_enabled()
    ag.enforce_grad_layout_policy(False)(lambda: None)()
    assert retrograd._C._is_grad_layout_enforcement_enabled()


def test_E_22_layout_of_gradients():
    """E-22: a gradient is laid out like its leaf, unless that is switched off and nobody else holds it."""
    strides = []
    for enforce in (True, False):
        a = retrograd.ones(2, 3).t().detach().requires_grad_()
        with retrograd.autograd.enforce_grad_layout_policy(enforce):
            (a * retrograd.ones(3, 2)).backward(retrograd.ones(3, 2))
        strides.append((a.stride(), a.grad.stride()))
    assert strides == [((1, 3), (1, 3)), ((1, 3), (2, 1))]


@pytest.mark.parametrize("consumers", [100_000])
def test_many_consumers_of_one_tensor(consumers):
    """E-07: a tensor with 100,000 consumers gets one gradient, quickly and without recursion."""
    a = retrograd.ones(1, requires_grad=True)
    x = a * 1
    ran = []
    x.register_hook(lambda g: ran.append(g.item()))
    total = retrograd.stack([x + i for i in range(consumers)]).sum()
    total.backward()
    assert ran == [consumers]
    assert a.grad.item() == consumers


def test_long_chain_with_hooks_and_restricted_runs():
    """E-10: chains far deeper than the recursion limit run restricted, logged, and are freed."""
    a = retrograd.ones(1, requires_grad=True)
    y = a
    depth = 20 * sys.getrecursionlimit()
    for _ in range(depth):
        y = y + 1
    y.retain_grad()
    (g,) = retrograd.autograd.grad(y, a, retain_graph=True)
    assert g.item() == 1.0
    y.backward(inputs=[a], retain_graph=True)
    remove = retrograd.autograd.graph._register_logging_hooks_on_whole_graph([y])
    remove()
    del y
    gc.collect()
