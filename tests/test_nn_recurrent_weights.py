"""Weights of recurrent layers: found by their names, whatever stands under them, as PyTorch finds them."""

from __future__ import annotations

import importlib
import pickle
import warnings
from typing import Any

from both_engines import differential


@differential
def test_weights_that_are_computed(torch: Any) -> Any:
    """Norms, prunings and parametrizations put a computed weight in the place of a parameter, and are trained."""
    nn, found = torch.nn, []
    prune = importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    wraps = [
        nn.utils.weight_norm, nn.utils.parametrizations.weight_norm, nn.utils.spectral_norm,
        nn.utils.parametrizations.spectral_norm, lambda m, name: prune.l1_unstructured(m, name, 0.5),
    ]  # fmt: skip
    for wrap in wraps:
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = wrap(nn.LSTM(2, 3, bidirectional=True), "weight_hh_l0")
        if layer is None or not isinstance(layer, nn.Module):
            continue
        out = layer(torch.ones(4, 1, 2))[0]
        out.square().sum().backward()
        trained = [[name, p.grad is not None] for name, p in layer.named_parameters()]
        found.append([(out * 100).round(), trained])
    return found


@differential
def test_weights_are_looked_at_as_often(torch: Any) -> Any:
    """What is computed at each look, such as a norm with a step of its own, is computed as often as by PyTorch."""
    nn, looks = torch.nn, [0]
    parametrize = importlib.import_module(f"{torch.__name__}.nn.utils.parametrize")

    class Counted(nn.Module):
        def __init__(self, copies: bool) -> None:
            super().__init__()
            self.copies = copies

        def forward(self, weight: Any) -> Any:
            looks[0] += 1
            return weight * 1 if self.copies else weight

    found = []
    for copies in (False, True):
        layer = nn.LSTM(2, 3)
        parametrize.register_parametrization(layer, "weight_hh_l0", Counted(copies))
        for second in (False, True):
            if second:
                parametrize.register_parametrization(layer, "bias_hh_l0", Counted(copies))
            for _ in range(2):
                looks[0] = 0
                layer(torch.ones(1, 1, 2))
                found.append(looks[0])
    return found


@differential
def test_parameters_of_a_subclass(torch: Any) -> Any:
    """A parameter of its own is none of the weights, and one that is assigned is one of them."""

    class Scaled(torch.nn.GRU):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.scale = torch.nn.Parameter(torch.ones(1))

    layer = Scaled(2, 3)
    layer.weight_ih_l0 = torch.nn.Parameter(torch.zeros(9, 2))
    return [
        layer(torch.ones(2, 1, 2))[0].shape, layer._flat_weights_names, layer._flat_weights[0].abs().sum(),
        [[w.shape for w in weights] for weights in layer.all_weights], layer._all_weights,
        layer.get_expected_hidden_size(torch.ones(4, 5, 2), None),
    ]  # fmt: skip


@differential
def test_states_from_before_projections(torch: Any) -> Any:
    """A pickled layer without ``proj_size`` has none; a copy computes what the layer does."""
    layer = torch.nn.LSTM(2, 3)
    copy = pickle.loads(pickle.dumps(layer))
    state = dict(layer.__dict__)
    del state["proj_size"]
    old = torch.nn.LSTM(2, 3)
    old.__setstate__(state)
    x = torch.ones(2, 1, 2)
    return [torch.equal(copy(x)[0], layer(x)[0]), torch.equal(old(x)[0], layer(x)[0]), old.proj_size]


@differential
def test_norms_of_several_dtypes(torch: Any) -> Any:
    """Statistics of an instance norm have the dtype that they had, whatever the input's; a batch norm refuses some."""
    F, found = torch.nn.functional, []
    dtypes = (torch.float16, torch.float32, torch.float64)
    for name in ("batch_norm", "instance_norm"):
        for of_input in dtypes:
            for of_stats in (None, *dtypes):
                for training in (True, False):
                    x = (torch.arange(24.0).reshape(2, 3, 4) % 7).to(of_input)
                    mean, var = (None if of_stats is None else f(3, dtype=of_stats) for f in (torch.zeros, torch.ones))
                    try:
                        out = getattr(F, name)(x, mean, var, None, None, training)
                    except RuntimeError as error:
                        found.append([name, type(error).__name__])
                    else:
                        near = [None if t is None else [t.dtype, (t.double() * 100).round()] for t in (mean, var)]
                        found.append([name, out.dtype, (out.double() * 50).round(), near])
    return found
