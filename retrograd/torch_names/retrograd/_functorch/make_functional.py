"""Modules as functions of their parameters, as ``functorch`` had them before ``torch.func.functional_call``."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from ..engine.methods import FUNCTIONS
from ..engine.warning import warn
from ..nn.module import Module
from ..nn.utils.replaced_state import functional_call

_ADVICE = (
    "We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{}` is deprecated as of "
    "PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use `torch.func.{}` instead; see "
    "the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more details "
    "https://pytorch.org/docs/main/func.migrating.html"
)


class FunctionalModuleWithBuffers(Module):
    """Called with parameters, buffers and the inputs of a module, of which it keeps a copy without values."""

    def __init__(self, model: Module, param_names: Sequence[str], buffer_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        """The module's results with these in the place of its own."""
        given = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """The same of a module without buffers."""

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        """The module's results with these in the place of its own."""
        return super().forward(params, (), *args, **kwargs)


def _taken(model: Module, detached: bool) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """A copy of a module, and its parameters and buffers as they are."""
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    if detached:
        params = {name: p.detach() for name, p in params.items()}
    return copy.deepcopy(model), params, buffers


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """A function of parameters and inputs, and the parameters; ``RuntimeError`` for a module with buffers."""
    warn(_ADVICE.format("make_functional", "functional_call"), FutureWarning)
    stateless, params, buffers = _taken(model, disable_autograd_tracking)
    if buffers:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule(stateless, tuple(params), ()), tuple(params.values())


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """A function of parameters, buffers and inputs, the parameters and the buffers."""
    warn(_ADVICE.format("make_functional_with_buffers", "functional_call"), FutureWarning)
    stateless, params, buffers = _taken(model, disable_autograd_tracking)
    made = FunctionalModuleWithBuffers(stateless, tuple(params), tuple(buffers))
    return made, tuple(params.values()), tuple(buffers.values())


def _stacked(states: list[dict[str, Any]]) -> tuple[Any, ...]:
    """The tensors of all modules under each name, as one."""
    together = zip(*(state.values() for state in states), strict=True)
    return tuple(FUNCTIONS["stack"](tensors).detach() for tensors in together)


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, Any, Any]:
    """One function for modules of one kind, their parameters and their buffers stacked."""
    warn(_ADVICE.format("combine_state_for_ensemble", "stack_module_state"), FutureWarning)
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    parts = [_taken(model, False) for model in models]
    stacked = [_stacked([part[place] for part in parts]) for place in (1, 2)]
    stateless, names, buffers = parts[0]
    return FunctionalModuleWithBuffers(stateless, tuple(names), tuple(buffers)), stacked[0], stacked[1]
