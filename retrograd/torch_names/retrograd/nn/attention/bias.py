"""``torch.nn.attention.bias``: causal masks for ``scaled_dot_product_attention``."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from ...engine.core.dtypes import bool_
from ...engine.methods import FUNCTIONS
from ...engine.overriding.overrides import disabled_torch_function_impl
from ...engine.tensors.tensor import Tensor
from ...engine.warning import warn


class CausalVariant(IntEnum):
    """Where the diagonal of a mask that is not square begins or ends."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask: a query sees the keys up to the diagonal.  What is computed with it is a plain tensor."""

    __module__ = "retrograd.nn.attention.bias"

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """The mask, as truth values."""
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        lower_right = variant == CausalVariant.LOWER_RIGHT
        if lower_right and seq_len_q > seq_len_kv:
            warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!")
        every = FUNCTIONS["ones"](seq_len_q, seq_len_kv, dtype=bool_)
        made: CausalBias = every.tril(seq_len_kv - seq_len_q if lower_right else 0).as_subclass(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        """Nothing is left to do."""

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as a plain tensor."""
        plain: Tensor = self.as_subclass(Tensor)
        return plain

    def __repr__(self) -> str:
        return repr(self._materialize())

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Refuse attention that is to be causal twice."""
        causal = (kwargs or {}).get("is_causal") or args[5:6] == (True,)
        if causal and func.__name__ == "scaled_dot_product_attention":
            raise ValueError("CausalBias should not be used with causal=True")
        return disabled_torch_function_impl(func, types, args, kwargs)


def causal_upper_left(*size: int) -> CausalBias:
    """Query ``i`` sees the keys up to ``i``."""
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The last query sees all keys, each one before it one key less."""
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)


__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]
