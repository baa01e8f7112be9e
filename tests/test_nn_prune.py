"""Pruned parameters and the older spectral norm, held against PyTorch."""

from __future__ import annotations

import importlib
from typing import Any

from both_engines import differential, raises


def layer(torch: Any, rows: int = 3, columns: int = 4) -> Any:
    """A linear layer with fixed weights."""
    made = torch.nn.Linear(columns, rows).double()
    values = torch.arange(float(rows * columns), dtype=torch.float64).mul(2.3).sin().view(rows, columns)
    made.weight.data.copy_(values)
    made.bias.data.copy_(torch.arange(float(rows), dtype=torch.float64).cos())
    return made


def pruning(torch: Any) -> Any:
    """``torch.nn.utils.prune``."""
    return importlib.import_module(f"{torch.__name__}.nn.utils.prune")


def state(module: Any) -> Any:
    """What a pruned layer consists of, its output and its gradient."""
    names = [n for n, _ in module.named_parameters()], [n for n, _ in module.named_buffers()]
    x = module.weight.new_ones(2, 4)
    out = module(x)
    out.sum().backward()
    return names, list(module.state_dict()), out, [p.grad for p in module.parameters()], module.weight


@differential
def test_pruning_by_size(torch: Any) -> Any:
    """Small entries and slices, again and again, by count and by share, by scores, by a mask; and back again."""
    prune = pruning(torch)
    one = state(prune.l1_unstructured(layer(torch), "weight", amount=0.4))
    two = layer(torch)
    prune.l1_unstructured(two, "weight", amount=3)
    prune.ln_structured(two, "weight", amount=1, n=2, dim=0)
    prune.l1_unstructured(two, "weight", 0.5, importance_scores=torch.arange(12.0).double().view(3, 4))
    kinds = [type(hook).__name__ for hook in two._forward_pre_hooks.values()], prune.is_pruned(two)
    slices = state(prune.ln_structured(layer(torch), "weight", 0.5, n=float("inf"), dim=1))
    mask = torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64)
    masked = state(prune.custom_from_mask(prune.identity(layer(torch), "bias"), "bias", mask))
    before = state(two)
    prune.remove(two, "weight")
    return one, kinds, before, slices, masked, state(two), prune.is_pruned(two)


@differential
def test_pruning_by_chance_and_over_layers(torch: Any) -> Any:
    """As many entries or slices go as were asked for; several layers can be pruned as one."""
    prune = pruning(torch)
    some = prune.random_unstructured(layer(torch), "weight", amount=0.25)
    rows = prune.random_structured(layer(torch), "weight", amount=2, dim=1)
    gone = int((some.weight_mask == 0).sum()), rows.weight_mask.sum(0).sort().values
    a, b = layer(torch), layer(torch)
    with torch.no_grad():
        b.weight.mul_(3)
    pairs = [(a, "weight"), (b, "weight"), (b, "bias")]
    prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.3)
    alone = prune.L1Unstructured(amount=2).prune(torch.tensor([3.0, -1.0, 2.0, -4.0]))
    return gone, a.weight_mask, b.weight_mask, b.bias_mask, alone


@differential
def test_methods_belong_to_the_module(torch: Any) -> Any:
    """Methods are named after the module in which programs, and pickles of pruned layers, look for them."""
    prune, base = pruning(torch), pruning(torch).BasePruningMethod
    methods = {name: kind for name, kind in vars(prune).items() if isinstance(kind, type) and issubclass(kind, base)}
    return {name: kind.__module__.partition(".")[2] for name, kind in sorted(methods.items())}


@differential
def test_refusals_of_pruning(torch: Any) -> Any:
    """Amounts that make no sense, parameters that are not pruned, methods for slices of vectors."""
    prune, one = pruning(torch), layer(torch)
    return [
        raises("should either be a float in the range", prune.l1_unstructured, one, "weight", 1.5),
        raises("should either be a float in the range", prune.l1_unstructured, one, "weight", -1),
        raises("Invalid type for amount", prune.l1_unstructured, one, "weight", "x"),
        raises("has to be pruned before pruning can be removed", prune.remove, one, "weight"),
        raises("should be smaller than the number of parameters", prune.L1Unstructured(13).prune, one.weight),
        raises("can only be applied to multidimensional", prune.LnStructured(1, 2).prune, one.bias),
        raises("parameters is not an Iterable", prune.global_unstructured, 3, prune.L1Unstructured),
        raises("must be of type dict", prune.global_unstructured, [], prune.L1Unstructured, 3),
    ]


@differential
def test_spectral_norm(torch: Any) -> Any:
    """The largest singular value becomes one, by power iteration while training; gradients; and back again."""
    norm, remove = torch.nn.utils.spectral_norm, torch.nn.utils.remove_spectral_norm
    made = norm(layer(torch), n_power_iterations=3)
    made.weight_u.copy_(torch.tensor([1.0, 0.0, 0.0]))
    made.weight_v.copy_(torch.tensor([0.5, 0.5, 0.5, 0.5]))
    x = torch.ones(2, 4, dtype=torch.float64)
    first, second = made(x), made(x)
    (first.sum() + second.pow(2).sum()).backward()
    names = [n for n, _ in made.named_parameters()], list(made.state_dict())
    still = made.eval()(x)
    twice = raises("Cannot register two spectral_norm hooks", norm, made)
    kept = made.weight_orig.grad, made.weight_u, made.weight_v
    remove(made)
    conv = norm(torch.nn.ConvTranspose1d(2, 5, 3))
    return [
        first, second, still, names, twice, kept, made(x), type(made.weight).__name__, tuple(conv.weight_u.shape),
        raises("not found in", remove, made), raises("is None", norm, torch.nn.Linear(1, 1, bias=False), "bias"),
        raises("Expected n_power_iterations to be positive", norm, layer(torch), "weight", 0),
    ]  # fmt: skip


@differential
def test_V_62_a_refused_amount_leaves_the_parameter(torch: Any) -> Any:
    """Row V-62: what cannot be pruned is a parameter as before, and can be pruned otherwise."""
    prune, one = pruning(torch), layer(torch)
    error = raises("should be smaller than the number", prune.l1_unstructured, one, "weight", 99)
    names = [name for name, _ in one.named_parameters()]
    return error, names, state(prune.l1_unstructured(one, "weight", 2))


@differential
def test_spectral_norm_of_transposed_convolutions(torch: Any) -> Any:
    """The matrix has a row for each output channel, which is the second dimension of their weights."""
    nn, found = torch.nn, []
    for layer in (nn.ConvTranspose1d(3, 4, 2), nn.ConvTranspose2d(3, 4, (2, 3)), nn.ConvTranspose3d(3, 4, 2)):
        hooked = nn.utils.spectral_norm(layer)
        found.append([hooked.weight_u.shape, hooked.weight_v.shape])
        layer = nn.utils.parametrizations.spectral_norm(type(layer)(3, 4, 2))
        found.append(layer.parametrizations.weight[0]._u.shape)
    return found
