"""retrograd: see what ``backward()`` will do, and why it went wrong.

The package is used like torch (``import retrograd as torch``) and has the inspector as ``retrograd.inspect``.
Everything is loaded on first use, so that a program on PyTorch never pays for the engine, nor a program on the engine
for the inspector.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import Any

__version__ = "0.2.0"

_TORCH_NAMES = os.path.join(os.path.dirname(__file__), "torch_names", __name__)
"""What is here because PyTorch has it (``nn``, ``optim``, ...): in the source tree a room of its own, which wheels do
without, since other tools look for ``retrograd.nn`` in ``retrograd/nn``."""
if os.path.isdir(_TORCH_NAMES):
    __path__.append(_TORCH_NAMES)

_LAZY_MODULES = (
    "_C", "_custom_op", "_dynamo", "_functorch", "_higher_order_ops", "_ops", "_tensor", "_utils", "accelerator", "amp",
    "autograd", "backends", "catalogue", "compiler", "cpu", "cuda", "distributed", "distributions", "fft", "func",
    "functional", "functorch", "inspect", "jit", "library", "linalg", "masked", "mps", "mtia", "multiprocessing", "nn",
    "ops", "optim", "overrides", "profiler", "random", "return_types", "serialization", "signal", "sparse", "special",
    "storage", "testing", "types", "utils", "version", "xpu", "__config__", "__future__",
)  # fmt: skip
"""Modules of ours, each loaded when a program first accesses it."""
_FROM_INSPECT = ("breakpoint", "debug", "deliberate", "log_hooks", "record", "walk", "watch", "why")


class _AbsentModules:
    """A finder, last on ``sys.meta_path``, that says what to do without a PyTorch module that is missing here."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> None:
        """``ModuleNotFoundError`` with a sentence; nothing for any other module."""
        package, _, name = fullname.partition(".")
        message = importlib.import_module(f"{__name__}._absent").sentence(name) if package == __name__ else None
        if message is not None:
            raise ModuleNotFoundError(message, name=fullname)


sys.meta_path.append(_AbsentModules)


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    if name in _FROM_INSPECT:
        return getattr(importlib.import_module(f"{__name__}.inspect"), name)
    if not (name.startswith("__") and name.endswith("__")):
        _load_face()
        if name in globals():
            return globals()[name]
        found = globals()["_narrow_dtype"](name)
        if found is not None:
            return found
    raise AttributeError(_missing(name))


@functools.cache  # once: later the names here may be wrappers that notify dispatch modes, which must stay
def _load_face() -> None:
    """Load the engine and add its names to this module, where later look-ups find them."""
    face = importlib.import_module(f"{__name__}._face")
    globals().update(face.NAMES)
    face.offer_operators(globals())
    importlib.import_module(f"{__name__}.engine.switches.anomaly").set_companion(_explained)


def _explained() -> Any:
    """Explain errors under anomaly mode; loaded when that is first switched on."""
    return importlib.import_module(f"{__name__}.inspect.explain").explained()


def _missing(name: str) -> str:
    import difflib  # only errors need it

    public = [n for n in globals() if not n.startswith("_")]
    # Tools probe every module for private names of theirs: no search for those.
    near = [] if name.startswith("_") else difflib.get_close_matches(name, public, 3)
    hint = f"; the nearest names are {', '.join(near)}" if near else ""
    return str(importlib.import_module(f"{__name__}._absent").missing_attribute(__name__, name, hint))


def __dir__() -> list[str]:
    _load_face()
    return sorted({*globals(), *_LAZY_MODULES, *_FROM_INSPECT})
