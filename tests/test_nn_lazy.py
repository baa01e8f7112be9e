"""Layers that take sizes from their first input, held against PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from both_engines import differential, raises

LAYERS = {
    "LazyLinear": ((3,), (2, 5)), "LazyConv1d": ((4, 3), (2, 6, 8)), "LazyConv2d": ((4, (2, 3), 1, 1), (6, 7, 7)),
    "LazyConv3d": ((2, 2), (1, 3, 4, 4, 4)), "LazyConvTranspose1d": ((4, 3), (2, 6, 8)),
    "LazyConvTranspose2d": ((4, 3, 2), (1, 6, 5, 5)), "LazyConvTranspose3d": ((2, 2), (1, 3, 4, 4, 4)),
    "LazyBatchNorm1d": ((), (4, 3)), "LazyBatchNorm2d": ((), (4, 3, 2, 2)), "LazyBatchNorm3d": ((), (2, 3, 2, 2, 2)),
    "LazyInstanceNorm1d": ((), (4, 3, 5)), "LazyInstanceNorm2d": ((), (4, 3, 2, 2)),
    "LazyInstanceNorm3d": ((), (2, 3, 2, 2, 2)),
}  # fmt: skip


def made(torch: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """A lazy layer."""
    return getattr(torch.nn, name)(*args, **kwargs)


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layers_become_ordinary(name: str) -> None:
    """Text, state and class before and after the first input; values of a layer whose parameters are set."""

    @differential
    def test(torch: Any) -> Any:
        args, shape = LAYERS[name]
        layer = made(torch, name, *args)
        before = repr(layer), list(layer.state_dict()), [str(p) for p in layer.parameters()]
        layer(torch.zeros(shape))
        shapes = {key: tuple(value.shape) for key, value in layer.state_dict().items()}
        for p in layer.parameters():
            p.data.fill_(0.5)
        x = torch.arange(float(torch.zeros(shape).numel()), dtype=torch.float64).view(shape) / 10
        out = layer.double()(x)
        (out * out).sum().backward()
        return before, repr(layer), type(layer).__name__, shapes, out, [p.grad for p in layer.parameters()]

    test()


@differential
def test_parameters_without_a_shape(torch: Any) -> Any:
    """They can be listed, cast, copied, saved and given to an optimizer; what needs a shape is refused."""
    layer = made(torch, "LazyLinear", 3)
    w = layer.weight
    use = "Attempted to use an uninitialized parameter"
    refused = [raises(use, lambda: w + 1), raises(use, lambda: torch.add(w, 1)), raises(use, w.sum),
               raises(use, w.numel), raises("Can't access the shape", lambda: w.shape)]  # fmt: skip
    torch.optim.SGD(layer.parameters(), lr=0.1)
    copied = copy.deepcopy(layer)
    layer.double()
    kinds = type(w).__name__, torch.nn.parameter.is_lazy(w), isinstance(w, torch.nn.Parameter), w.dtype, w.requires_grad
    copied(torch.ones(1, 2))
    full = type(copied).__name__, len(copied._forward_pre_hooks), type(copied.weight) is torch.nn.Parameter
    own = torch.nn.UninitializedParameter(requires_grad=False)
    own.materialize((2, 3))
    return (
        refused,
        kinds,
        full,
        layer.has_uninitialized_params(),
        tuple(own.shape),
        own.requires_grad,
        type(own).__name__,
    )


@differential
def test_states_of_lazy_layers(torch: Any) -> Any:
    """A lazy layer takes a state with shapes, and a lazy state; an ordinary layer refuses that one."""
    lazy, plain = made(torch, "LazyLinear", 3), torch.nn.Linear(2, 3)
    state = {key: value.clone().fill_(0.25) for key, value in plain.state_dict().items()}
    lazy.load_state_dict(state)
    loaded = lazy(torch.ones(1, 2)), type(lazy).__name__
    again = made(torch, "LazyLinear", 3).load_state_dict(made(torch, "LazyLinear", 3).state_dict())
    refused = raises("uninitialized", plain.load_state_dict, made(torch, "LazyLinear", 3).state_dict())
    return loaded, str(again), refused


@differential
def test_inputs_that_do_not_fit(torch: Any) -> Any:
    """Wrong numbers of dimensions and channels are told; a module that stays without shapes is refused."""

    class Never(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.UninitializedParameter()

        def initialize_parameters(self, x: Any) -> None:
            pass

        def forward(self, x: Any) -> Any:
            return x

    never = Never()
    conv, grouped = made(torch, "LazyConv2d", 4, 3), made(torch, "LazyConv1d", 4, 1, groups=2)
    return [
        raises("input to LazyConv2d, but got input of size", conv, torch.ones(2, 2)),
        raises("in_channels must be divisible by groups", grouped, torch.ones(1, 3, 4)),
        raises("has not been fully initialized", never, torch.ones(1)),
        raises("is not implemented for", torch.nn.modules.lazy.LazyModuleMixin.initialize_parameters, never),
    ]


@differential
def test_V_62_lazy_layers_without_memory(torch: Any) -> Any:
    """Row V-62: parameters without a shape know the device that they will be on, also in a block."""
    with torch.device("meta"):
        inside = torch.nn.Sequential(torch.nn.LazyConv2d(3, 2), torch.nn.LazyBatchNorm2d())
        before = [str(t.device) for t in inside.state_dict().values()]
        shape = inside(torch.ones(1, 2, 4, 4)).shape
    alone = torch.nn.LazyLinear(2, device="meta")
    copied = copy.deepcopy(alone).weight.is_meta
    alone(torch.ones(2, 3, device="meta")).sum().backward()
    after = [(str(t.device), tuple(t.shape)) for t in (*inside.state_dict().values(), alone.weight, alone.bias.grad)]
    buffer = torch.nn.UninitializedBuffer(device="meta")
    buffer.materialize((3,))
    return before, shape, copied, after, str(buffer.device), torch.nn.LazyLinear(2).weight.is_cpu
