"""Writes to sparse tensors, and addition of sparse tensors to dense ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .answers import add_entries
from .coo import ANSWERS, SparseTensor, answers_for


def _written(name: str) -> Callable[..., Any]:
    """The operator that writes what the one of this name computes."""

    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, SparseTensor):
            result = ANSWERS[name](self, *args, **kwargs)
            self.take(result)
            return self
        if name not in ("add", "sub"):
            raise NotImplementedError(f"{name}_: a dense tensor does not take a sparse one; call to_dense() first")
        return add_entries(self, args[0], kwargs.get("alpha", 1) * (1 if name == "add" else -1))

    return write


@answers_for("copy_")
def _copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(self, SparseTensor) or not isinstance(src, SparseTensor):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{self.type()} and src type = {src.type()}"
        )
    values = src._values().to(self.dtype)
    self.take(SparseTensor.made(src._indices().clone(), values.clone(), src.shape, src.is_coalesced()))
    return self


for _name in ("add", "sub", "mul", "div", "neg", "abs", "sqrt", "pow", "relu", "sin", "tanh"):
    ANSWERS[f"{_name}_"] = _written(_name)


@answers_for("zero_")
def _zero(self: SparseTensor) -> SparseTensor:
    self.take(ANSWERS["zeros_like"](self))
    return self
