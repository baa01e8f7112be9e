"""Calls that are foreseen from the step before are noted as they happen, not as they were foreseen."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
import weakref

import retrograd as rg
from retrograd.inspect.process.recorder import recording
from retrograd.inspect.sources.engine_.calls.call_plans import Plan


def _recorded(program):
    """For each call of ``program``: the lines on the stack as ``traceback`` tells them, and as the recording does."""
    told: list[list[int]] = []

    def call(t, outward):
        told.append([entry.lineno for entry in reversed(traceback.extract_stack(sys._getframe(1)))])
        return t.sin() if not outward else call(t, outward - 1)

    with recording(level="full") as found:
        program(call)
    events = [event for event in found.events if event.op == "sin"]
    return told, [[entry["line"] for entry in event.data["stack"]] for event in events]


def test_one_place_reached_from_several():
    """The stack of each call names the line that it really came from, in whatever order these take turns."""
    x = rg.ones(2, requires_grad=True)

    def program(call):
        for way in "aababbaabbbab":
            if way == "a":
                call(x, 0)
            else:
                call(x, 0)

    told, noted = _recorded(program)
    assert len(noted) == 13
    assert [lines[1] for lines in noted] == [lines[0] for lines in told]
    assert len({lines[1] for lines in noted}) == 2


def test_recursion_of_changing_depth():
    """As many frames are named as there were, up to the limit of a stack."""
    x = rg.ones(2, requires_grad=True)
    depths = [0, 3, 1, 0, 2, 3, 1, 0, 0, 2]

    def program(call):
        for depth in depths:
            call(x, depth)

    _, noted = _recorded(program)
    first = noted[0][0]
    assert [1 + lines[1:].count(first) for lines in noted] == [depth + 1 for depth in depths]


def test_a_generator_resumed_from_two_lines():
    """One frame lives on, and who resumed it last is on the stack."""
    x = rg.ones(2, requires_grad=True)

    def endless():
        while True:
            yield x.sin()

    source = endless()
    with recording(level="full") as found:
        for _ in range(3):
            next(source)
            next(source)
    lines = [event.data["stack"][1]["line"] for event in found.events if event.op == "sin"]
    assert lines == [lines[0], lines[0] + 1] * 3


def test_foreseen_calls_have_lines_scopes_and_surroundings_of_their_own():
    """Scope, grad mode and the line of the node are those in force at the call, not those at its plan."""
    x = rg.ones(2, requires_grad=True)
    with recording(level="full") as found:
        for number in range(6):
            with rg.autograd.profiler.record_function(f"part {number % 2}"), rg.set_grad_enabled(number % 3 != 2):
                y = x.sin()
            if y.requires_grad:
                y.sum().backward()
    sines = [event for event in found.events if event.op == "sin"]
    assert [event.data["grad"] for event in sines] == [True, True, False] * 2
    assert [event.data["scope"] for event in sines] == ["part 0", "part 1"] * 3
    graphs = [dict(zip(graph.op, graph.scope, strict=True)) for graph in found.graphs]
    assert [graph["SinBackward0"] for graph in graphs] == ["part 0", "part 1", "part 1", "part 0"]


def test_threads_foresee_for_themselves():
    """Two threads at different places get lines of their own."""
    x = rg.ones(2, requires_grad=True)
    gate = threading.Barrier(2)

    def work(function):
        for _ in range(20):
            gate.wait()
            function(x)

    with recording(level="full") as found:
        threads = [threading.Thread(target=work, args=(function,)) for function in (rg.sin, lambda t: rg.cos(t))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not [event.data for event in found.events if event.kind == "problem"]
    lines = {op: {event.source.line for event in found.events if event.op == op} for op in ("sin", "cos")}
    assert len(lines["sin"]) == len(lines["cos"]) == 1
    assert lines["sin"] != lines["cos"]
    assert sum(event.op in lines for event in found.events) == 40


def test_plans_do_not_pile_up():
    """A program that reaches a place by ever new ways leaves no more plans behind than one that does not."""
    x = rg.ones(2, requires_grad=True)

    def down(t, depth):
        return t.sin() if not depth else down(t, depth - 1)

    with recording(level="full"):
        x.cos()  # whose plan leads to what came after
        for step in range(300):
            down(x, step % 60)
        gc.collect()
        assert sum(type(thing) is Plan for thing in gc.get_objects()) < 40


def test_plans_keep_no_frame_alive():
    """What a function held is free when it has returned, though its calls are foreseen."""

    class Held:
        pass

    x, alive = rg.ones(2, requires_grad=True), []

    def function():
        held = Held()
        alive.append(weakref.ref(held))
        return x.sin()

    with recording(level="full"):
        for _ in range(3):
            function()
        assert all(reference() is None for reference in alive)


def test_nodes_of_functions_have_the_line_of_apply():
    """A foreseen call of a ``forward`` that records a graph of its own tells the Function's node from its own."""

    class Doubled(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with rg.enable_grad():
                inner = x.detach().requires_grad_() * 2
            return inner.detach()

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def step():
        x = rg.ones(3, requires_grad=True)
        Doubled.apply(x).sum().backward()
        return sys._getframe().f_lineno - 1

    with recording(level="full") as found:
        lines = [step() for _ in range(4)]

    made = [
        line
        for graph in found.graphs
        for kind, line in zip(graph.kind, graph.source, strict=True)
        if kind == "function"
    ]
    assert [line.line for line in made] == lines
