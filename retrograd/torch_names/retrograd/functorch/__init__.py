"""``functorch`` as it was before it became ``torch.func``: ``import retrograd.functorch as functorch``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import func
from .._functorch.make_functional import (
    _ADVICE,
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)
from ..engine.warning import warn
from . import experimental


def _older(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a warning that this name of it will go."""

    @functools.wraps(function)
    def named(*args: Any, **kwargs: Any) -> Any:
        name = function.__name__
        advice = _ADVICE.format(name, name)
        warn(advice.replace("torch.func.vmap", "torch.vmap"), FutureWarning)
        return function(*args, **kwargs)

    return named


functionalize, grad, grad_and_value = _older(func.functionalize), _older(func.grad), _older(func.grad_and_value)
hessian, jacfwd, jacrev = _older(func.hessian), _older(func.jacfwd), _older(func.jacrev)
jvp, vjp, vmap = _older(func.jvp), _older(func.vjp), _older(func.vmap)

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "experimental", "functionalize",
    "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers",
    "vjp", "vmap",
]  # fmt: skip
