"""Functions of ``torch.linalg`` that PyTorch also has outside it, with an argument called ``input``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ....table.public import public
from .determinants import det
from .inverses import inv
from .matrix_functions import matrix_exp, matrix_power


def _taking_input(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with ``input`` as the name of its first argument."""

    @functools.wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        return function(input, *args, **kwargs)

    return call


for _name, _function in (("det", det), ("inverse", inv), ("matrix_exp", matrix_exp), ("matrix_power", matrix_power)):
    public(_name)(_taking_input(_function))
