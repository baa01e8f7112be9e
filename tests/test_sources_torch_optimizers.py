"""While an optimizer of PyTorch works nothing is listened to; before and after everything is, whatever it did."""

from __future__ import annotations

import threading

import pytest
from marked_lines import marks_of

from retrograd.inspect.process.recorder import recording

torch = pytest.importorskip("torch")


class Failing(torch.optim.SGD):
    """An optimizer whose step fails."""

    def step(self, closure=None):
        """Fail."""
        raise RuntimeError("no step today")


@pytest.mark.parametrize("with_module", [True, False])
def test_after_a_step_that_failed(with_module):
    """Modules, or else the next backward run, bring the listening back; nothing is left at the end."""
    layer = torch.nn.Linear(2, 1)
    optimizer = Failing(layer.parameters(), lr=0.1)
    before = torch.overrides._get_current_function_mode_stack()
    with recording() as recorded:
        layer(torch.ones(1, 2)).sum().backward()
        with pytest.raises(RuntimeError, match="no step"):
            optimizer.step()
        if not with_module:
            layer.weight.sum().backward()
        out = layer(torch.ones(1, 2)) if with_module else layer.weight * 2
        out.exp().sum().backward()  # exponential
    assert marks_of(recorded.graphs[-1])["ExpBackward0"] == "exponential"
    assert torch.overrides._get_current_function_mode_stack() == before


def operations(recorded):
    """What was called, without what optimizers and backward runs are."""
    return [event.op for event in recorded.events if event.kind in ("operation", "inplace")]


@pytest.mark.parametrize("with_closure", [True, False])
@pytest.mark.parametrize("back", ["module", "backward", "zero_grad"])
def test_calls_after_a_step_that_failed(back, with_closure):
    """At level ``full`` calls are events again after the next module, backward run or cleared gradient."""
    layer = torch.nn.Linear(2, 1)
    loss = layer.weight.sum()
    loss.backward()
    optimizer = Failing(layer.parameters(), lr=0.1)
    ways = {
        "module": lambda: layer(torch.ones(1, 2)),
        "backward": layer.weight.sum().backward,
        "zero_grad": lambda: optimizer.zero_grad(set_to_none=False),
    }
    with recording(level="full") as recorded:
        with pytest.raises(RuntimeError, match="no step"):
            optimizer.step((lambda: None) if with_closure else None)
        ways[back]()
        layer.weight.exp()
    seen = {"module": ["linear"], "backward": [], "zero_grad": ["zero"]}[back]
    assert operations(recorded)[-len(seen) - 1 :] == [*seen, "exp"]


@pytest.mark.parametrize("every_thread", [True, False])
def test_a_recording_after_a_step_that_failed(every_thread):
    """What one recording did not hear of a step that failed is no matter to the next one, on whichever thread."""
    optimizer, heard = Failing([torch.nn.Parameter(torch.ones(2))], lr=0.1), []

    def program():
        with pytest.raises(RuntimeError, match="no step"):
            optimizer.step()

    def program_and_recording():
        program()
        with recording(level="full", every_thread=False) as recorded:
            torch.ones(2).exp()
        heard.extend(operations(recorded))

    with recording(level="full", every_thread=every_thread):
        program()
        if not every_thread:
            thread = threading.Thread(target=program_and_recording)
            thread.start()
            thread.join()
    if every_thread:
        program_and_recording()
    assert heard == ["ones", "exp"]


def test_modes_of_the_program_stay_where_they_are():
    """A mode put on around a step is taken off by its own block, and sees what the optimizer calls."""
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with recording() as recorded:
        stack = torch.overrides._get_current_function_mode_stack()
        weight.sum().backward()
        with Mode() as mode:
            optimizer.step()
            optimizer.zero_grad()
            assert torch.overrides._get_current_function_mode_stack() == [*stack, mode]
        assert torch.overrides._get_current_function_mode_stack() == stack
        optimizer.step()
        assert torch.overrides._get_current_function_mode_stack() == stack
        weight.exp().sum().backward()  # afterwards
    assert seen
    assert marks_of(recorded.graphs[-1])["ExpBackward0"] == "afterwards"


def test_steps_that_compute_again_are_seen():
    """What a closure computes inside a step has its lines."""
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.LBFGS([weight], max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = weight.cosh().sum()  # closure
        loss.backward()
        return loss

    with recording(level="full") as recorded:
        optimizer.step(closure)
    assert all(marks_of(snapshot)["CoshBackward0"] == "closure" for snapshot in recorded.graphs)


def test_gradients_set_to_zero_in_place_are_seen():
    """Writes into gradients are events, since a graph may have saved them."""
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1, foreach=False)
    with recording(level="full") as recorded:
        (weight * weight).sum().backward()
        optimizer.zero_grad(set_to_none=False)
        optimizer.zero_grad()
    assert [event.op for event in recorded.events if event.kind == "inplace"] == ["zero"]
    assert [event.data["action"] for event in recorded.events if event.kind == "optimizer"] == ["zero_grad"] * 2
