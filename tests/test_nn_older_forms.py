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
