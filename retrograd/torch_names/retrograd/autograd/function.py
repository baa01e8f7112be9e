"""``torch.autograd.function``: re-exports only."""

from ..engine.function.function import (
    BackwardCFunction,
    Function,
    FunctionCtx,
    InplaceFunction,
    NestedIOFunction,
    once_differentiable,
)

FunctionMeta = type(Function)

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta",
    "InplaceFunction", "NestedIOFunction", "once_differentiable",
]  # fmt: skip
