"""``save`` and ``load``: objects with tensors inside, pickled; loading trusts only what tensors are made of."""

from __future__ import annotations

import os
import pickle
from typing import Any, BinaryIO

from ...table.public import public

_TRUSTED = {
    "collections": {"OrderedDict", "defaultdict"},
    "builtins": {"set", "frozenset", "complex", "bytearray", "slice", "range"},
    "numpy": {"ndarray", "dtype"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "retrograd.engine.tensors.copying": {"rebuild"},
    "retrograd.engine.tensors.dtypes": {"Size", "by_name", "device", "dtype"},
}


class _TrustedOnly(pickle.Unpickler):
    """Refuses everything that could run code of its own."""

    def find_class(self, module: str, name: str) -> Any:
        if name in _TRUSTED.get(module, ()):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"Weights only load failed: {module}.{name} is not among the types that a file may contain. "
            "Pass weights_only=False if you trust who wrote this file: loading it can then run any code."
        )


@public("save", method=False)
def save(obj: Any, f: str | os.PathLike[str] | BinaryIO, pickle_protocol: int = 2, **kwargs: Any) -> None:
    """Write an object to a path or a binary file; tensors keep data, requires_grad and attributes, not the graph."""
    protocol = max(pickle_protocol, pickle.DEFAULT_PROTOCOL)  # older ones write bytes as a call that runs code
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            pickle.dump(obj, file, protocol)
    else:
        pickle.dump(obj, f, protocol)


@public("load", method=False)
def load(
    f: str | os.PathLike[str] | BinaryIO, map_location: Any = None, *, weights_only: bool = True, **kwargs: Any
) -> Any:
    """Read what ``save`` wrote.

    Raises ``pickle.UnpicklingError`` for types beyond tensors and plain containers unless ``weights_only=False``.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, weights_only)
    return _read(f, weights_only)


def _read(file: BinaryIO, weights_only: bool) -> Any:
    return _TrustedOnly(file).load() if weights_only else pickle.load(file)
