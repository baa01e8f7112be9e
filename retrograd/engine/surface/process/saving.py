"""``save`` and ``load``: pickled objects with tensors inside; loading accepts only what tensors are made of."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

from ...core import narrow
from ...core.devices import device
from ...core.dtypes import ALL
from ...table.public import public
from ...tensors import copying

_TRUSTED = {
    "collections": {"OrderedDict", "defaultdict"},
    "builtins": {"set", "frozenset", "complex", "bytearray", "slice", "range"},
    "numpy": {"ndarray", "dtype"},
    "ml_dtypes": set(narrow.NAMES),
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "retrograd.engine.meta.tensor": {"rebuild"},
    "retrograd.engine.sparse.coo": {"rebuild"},
    "retrograd.engine.sparse.compressed": {"rebuild"},
    "retrograd.engine.tensors.copying": {"rebuild"},
    "retrograd": {"Size", "device", "dtype", *(one.name for one in ALL), *narrow.NAMES},
}


_ADDED: list[Any] = []
"""Classes and functions that the program trusts as well, or pairs of one and the name that stands in files."""


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files contain these classes and functions from here on."""
    _ADDED.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What was added."""
    return list(_ADDED)


def clear_safe_globals() -> None:
    """Trust nothing more than at the start."""
    _ADDED.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Let files contain these classes and functions within this block."""
    before = get_safe_globals()
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _ADDED[:] = before


def _added(full_name: str) -> Any:
    for given in _ADDED:
        trusted, name = given if isinstance(given, tuple) else (given, f"{given.__module__}.{given.__qualname__}")
        if name == full_name:
            return trusted
    return None


class _Anything(pickle.Unpickler):
    """Reads everything, tensors where ``map_location`` says; the CPU is all that there is."""

    def __init__(self, file: BinaryIO, map_location: Any) -> None:
        super().__init__(file)
        self._location = map_location.get("cpu", "cpu") if isinstance(map_location, dict) else map_location

    def find_class(self, module: str, name: str) -> Any:
        if module == "ml_dtypes":
            narrow.load(name)  # which says what to install
        found = super().find_class(module, name)
        if name == "rebuild" and module.startswith("retrograd.engine."):
            _check_location(self._location)
            if callable(self._location) and found is copying.rebuild:  # the others have no storage
                return partial(_located, found, self._location)
        return found


def _located(rebuild: Any, location: Any, *parts: Any) -> Any:
    """A tensor that was read, of whose memory a function was asked where it is to be: the CPU is all that there is."""
    made = rebuild(*parts)
    location(made.untyped_storage(), "cpu")
    return made


def _check_location(location: Any) -> None:
    """``RuntimeError`` for tensors that are to come to a device that is not there."""
    if location is None or callable(location):
        return
    if not isinstance(location, (str, device)):
        raise TypeError(f"'{type(location).__name__}' object is not callable")
    kind = str(location).partition(":")[0]
    if kind == "cuda":
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    if kind not in ("cpu", "meta"):
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {kind}); "
            "use map_location='cpu'"
        )


class _TrustedOnly(_Anything):
    """Refuses everything that could run code of its own."""

    def find_class(self, module: str, name: str) -> Any:
        if name in _TRUSTED.get(module, ()):
            return super().find_class(module, name)
        added = _added(f"{module}.{name}")
        if added is not None:
            return added
        raise pickle.UnpicklingError(
            f"Weights only load failed: {module}.{name} is not among the types that a file may contain. "
            "Name it by torch.serialization.add_safe_globals, or pass weights_only=False if you trust who wrote this "
            "file: loading it can then run any code."
        )


@public("save", method=False)
def save(obj: Any, f: str | os.PathLike[str] | BinaryIO, pickle_protocol: int = 2, **kwargs: Any) -> None:
    """Write an object to a path or a binary file; tensors keep data, requires_grad and attributes, not the graph."""
    protocol = max(pickle_protocol, pickle.DEFAULT_PROTOCOL)  # older ones write bytes as a call that runs code
    if isinstance(f, (str, os.PathLike)):
        parent = os.path.dirname(os.fspath(f))
        if parent and not os.path.isdir(parent):
            raise RuntimeError(f"Parent directory {parent} does not exist.")
        with open(f, "wb") as file:
            pickle.dump(obj, file, protocol)
    elif not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    else:
        pickle.dump(obj, f, protocol)


@public("load", method=False)
def load(
    f: str | os.PathLike[str] | BinaryIO, map_location: Any = None, *, weights_only: bool = True,
    mmap: bool | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """Read what ``save`` wrote; ``RuntimeError`` if ``map_location`` is a device that is not there.

    Raises ``pickle.UnpicklingError`` for types beyond tensors and plain containers unless ``weights_only=False``.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, map_location, weights_only)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    return _read(f, map_location, weights_only)


def _read(file: BinaryIO, map_location: Any, weights_only: bool) -> Any:
    try:
        return (_TrustedOnly if weights_only else _Anything)(file, map_location).load()
    except pickle.UnpicklingError as error:
        if not weights_only or str(error).startswith("Weights only load failed"):
            raise
        raise pickle.UnpicklingError(f"Weights only load failed: {error}. The file is damaged or no pickle.") from None
