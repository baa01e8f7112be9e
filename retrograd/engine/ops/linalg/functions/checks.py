"""Checks that several functions of ``torch.linalg`` share, with the same messages."""

from __future__ import annotations

from typing import Any

from ....tensors.dtype_names import scalar_name


def check_same_dtype(what: str, one: tuple[str, Any], other: tuple[str, Any]) -> None:
    """``RuntimeError`` for tensors, each with its name, of different dtypes; ``what`` begins the sentence."""
    (a, x), (b, y) = one, other
    if x._sig.numpy != y._sig.numpy:
        raise RuntimeError(
            f"{what} to have the same dtype, but found {a} of type {scalar_name(x._sig.numpy)} and {b} of type "
            f"{scalar_name(y._sig.numpy)} instead"
        )
