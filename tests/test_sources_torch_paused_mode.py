"""Inside PyTorch's own modules the mode may be off: every node still has the line that it has with the mode on."""

from __future__ import annotations

import pytest

from retrograd.inspect.process.recorder import recording

torch = pytest.importorskip("torch")


def swish(x):
    """An activation of the user's."""
    return x * torch.sigmoid(x)


class Block(torch.nn.Module):
    """A module of the user's."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        h = self.linear(x)
        return torch.tanh(h)


def doubled(module, given):
    """A hook of the user's."""
    return (given[0] * 2,)


def hooked():
    """A module of PyTorch with a hook in front."""
    linear = torch.nn.Linear(4, 4)
    linear.register_forward_pre_hook(doubled)
    return torch.nn.Sequential(torch.nn.Linear(4, 4), linear)


def patched():
    """A module of PyTorch with another forward."""
    relu = torch.nn.ReLU()
    relu.forward = swish
    return torch.nn.Sequential(torch.nn.Linear(4, 4), relu)


def encoder(activation):
    """A layer that calls a function."""
    return torch.nn.TransformerEncoderLayer(4, 2, 8, 0.0, activation, batch_first=True)


MODELS = {
    "nested": (
        lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sequential(Block(), torch.nn.ReLU())),
        "forward",
    ),
    "hook": (hooked, "doubled"),
    "forward": (patched, "swish"),
    "activation": (lambda: encoder(swish), "swish"),
    "library's activation": (lambda: encoder(torch.relu), None),
}


def lines_of(model, level):
    """Operator, function, line and scope of each node."""
    with recording(level=level) as recorded:
        model(torch.ones(2, 3, 4)).sum().backward()
    (snapshot,) = recorded.graphs
    return [
        (op, line and (line.line, line.function), scope)
        for op, line, scope in zip(snapshot.op, snapshot.source, snapshot.scope, strict=True)
        if op != "AccumulateGrad"
    ]


@pytest.mark.parametrize("name", MODELS)
def test_lines_are_those_with_the_mode_on(name):
    """What runs in a module is the line that called it, what the user wrote is its own line."""
    make, function = MODELS[name]
    model = make()
    paused, seeing = lines_of(model, "graph"), lines_of(model, "full")

    assert paused == seeing
    assert {line[1] for _, line, _ in paused} == {"lines_of"} | ({function} if function else set())


def test_modes_are_as_they_were():
    """A module that raises, a mode of the user's above ours, and calls afterwards: nothing is left on or off."""
    stack = torch.overrides._get_current_function_mode_stack

    class Mine(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), Block())
    with recording() as recorded:
        ours = stack()
        with Mine() as mine:
            model(torch.ones(2, 4))
            assert stack() == [*ours, mine]
        with pytest.raises(RuntimeError):
            model(torch.ones(2, 3))
        assert stack() == ours
        x = torch.ones(3, requires_grad=True)
        (x * 2).sum().backward()
    assert stack() == []
    assert all(line is not None for line in recorded.graphs[0].source[:2])
