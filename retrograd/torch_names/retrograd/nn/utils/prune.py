"""``torch.nn.utils.prune``: entries of parameters held at zero by a mask, by a method or a function of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...engine.methods import FUNCTIONS
from . import pruning_methods
from .convert_parameters import parameters_to_vector
from .pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    prunes,
)

_METHODS = (
    BasePruningMethod, CustomFromMask, Identity, L1Unstructured, LnStructured, PruningContainer, RandomStructured,
    RandomUnstructured,
)  # fmt: skip
for _method in _METHODS:
    _method.__module__ = __name__  # where programs and pickles of pruned layers find them
del _method
_validate_pruning_amount_init = pruning_methods._validate_pruning_amount_init
_validate_pruning_amount = pruning_methods._validate_pruning_amount
_validate_structured_pruning = pruning_methods._validate_structured_pruning
_validate_pruning_dim, _compute_norm = pruning_methods._validate_pruning_dim, pruning_methods._compute_norm
_compute_nparams_toprune = pruning_methods._compute_nparams_toprune

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


def identity(module: Any, name: str) -> Any:
    """A mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune entries by chance."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the entries nearest to zero, or with the lowest scores."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune slices by chance."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the slices with the smallest norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune what a mask says."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune several parameters ``(module, name)`` together, as one vector."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    relevant = parameters_to_vector([scores.get(pair, getattr(*pair)) for pair in pairs])
    masks = [getattr(m, f"{name}_mask", FUNCTIONS["ones_like"](getattr(m, name))) for m, name in pairs]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE is supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    final, start = container.compute_mask(relevant, parameters_to_vector(masks)), 0
    for module, name in pairs:
        size = getattr(module, name).numel()
        custom_from_mask(module, name, final[start : start + size].view_as(getattr(module, name)))
        start += size


def remove(module: Any, name: str) -> Any:
    """Make the pruned values an ordinary parameter again; ``ValueError`` if it is not pruned."""
    for number, hook in module._forward_pre_hooks.items():
        if prunes(hook, name):
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Whether some parameter of the module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for _, inner in module.named_modules()
        for hook in inner._forward_pre_hooks.values()
    )
