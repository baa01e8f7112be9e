"""Older forms of modules' calls and states that programs still use (V-62)."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from both_engines import differential, raises, warned


@differential
def test_V_62_states_of_the_older_weight_norm(t: Any) -> Any:
    """Row V-62: the parametrized weight_norm reads states of the older one, and computes the same weight."""
    state = {"weight_g": t.full((3, 1), 2.0), "weight_v": t.eye(3)[:, :2] + 1, "bias": t.zeros(3)}
    newer = t.nn.utils.parametrizations.weight_norm(t.nn.Linear(2, 3))
    said = str(newer.load_state_dict(state))
    return said, newer.weight.detach(), sorted(newer.state_dict())


@differential
def test_V_62_parametrized_modules_are_not_pickled(t: Any) -> Any:
    """Row V-62: their class was made while the program ran; deep copies and states are there."""
    module = t.nn.utils.parametrizations.weight_norm(t.nn.Linear(1, 1))
    phrase = "Serialization of parametrized modules is only supported through state_dict()"
    return raises(phrase, pickle.dumps, module), type(copy.deepcopy(module)).__name__


@differential
def test_V_62_state_dict_by_position(t: Any) -> Any:
    """Row V-62: destination, prefix and keep_vars by position work and warn."""
    module, place = t.nn.Linear(1, 1), {}
    said, found = warned("Positional args are being deprecated", module.state_dict, place, "p.", True)
    return said, found is place, sorted(found), found["p.bias"].requires_grad


@differential
def test_V_62_what_profilers_call_an_optimizer(t: Any) -> Any:
    """Row V-62: the name under which zero_grad is measured."""
    return t.optim.SGD([t.ones(1, requires_grad=True)], lr=0.1)._zero_grad_profile_name


@differential
def test_V_62_parametrized_parameters_stay_the_same_tensors(t: Any) -> Any:
    """Row V-62: an optimizer made before a parametrization is registered goes on with the very parameter."""
    module = t.nn.Linear(1, 1, bias=False)
    weight = module.weight
    optimizer = t.optim.SGD(module.parameters(), lr=0.5)

    class Half(t.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x / 2

        def right_inverse(self, x: Any) -> Any:
            return x * 2

    t.nn.init.ones_(weight)
    t.nn.utils.parametrize.register_parametrization(module, "weight", Half())
    module(t.ones(1, 1)).sum().backward()
    optimizer.step()
    return module.parametrizations.weight.original is weight, weight, module.weight


@differential
def test_V_62_what_counts_as_parameter(t: Any) -> Any:
    """Row V-62: tensors that say so are parameters; tables of modules are plain dictionaries."""
    marked = t.ones(1)
    marked._is_param = True
    module = t.nn.Sequential(t.nn.ReLU())
    del module[0]
    kinds = [type(table).__name__ for table in (module._modules, module._parameters, module._buffers)]
    return isinstance(marked, t.nn.Parameter), isinstance(t.ones(1), t.nn.Parameter), kinds


@differential
def test_V_13_gradients_of_other_devices(t: Any) -> Any:
    """Rows V-13, V-18: a gradient without memory is neither assigned nor taken from a hook."""
    x = t.ones(2, requires_grad=True)
    x.register_hook(lambda g: g.to("meta"))
    return (
        raises("attempting to assign a gradient with device type", setattr, x, "grad", t.ones(2, device="meta")),
        raises("has changed the type of value", x.sum().backward),
        raises("Only allowed values for randomness", t.func.jacfwd(t.sin, randomness="bad"), t.ones(2)),
    )
