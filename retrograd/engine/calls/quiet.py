"""Computing without NumPy's floating-point warnings, as PyTorch does.

``np.errstate`` costs more than a small operation, so its context variable is set directly where NumPy has it.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from numpy._core._ufunc_config import _extobj_contextvar  # type: ignore[attr-defined, unused-ignore]
    from numpy._core.umath import _make_extobj  # type: ignore[attr-defined, unused-ignore]
except ImportError:  # another NumPy: the public way
    _extobj_contextvar = None


def quietly(function: Callable[..., Any], args: Any) -> Any:
    """``function(*args)`` with floating-point errors ignored."""
    if _extobj_contextvar is None:
        with np.errstate(all="ignore"):
            return function(*args)
    token = _extobj_contextvar.set(_QUIET)
    try:
        return function(*args)
    finally:
        _extobj_contextvar.reset(token)


_QUIET: Any = None
if _extobj_contextvar is not None:
    with contextlib.suppress(TypeError):
        _QUIET = _make_extobj(all="ignore")
    if _QUIET is None:
        _extobj_contextvar = None


def _nothing(token: Any = None) -> None:
    """Where NumPy has no context variable, no fast path is generated."""


set_quiet: Any = _nothing if _extobj_contextvar is None else _extobj_contextvar.set
reset_quiet: Any = _nothing if _extobj_contextvar is None else _extobj_contextvar.reset
QUIET: Any = _QUIET
"""What ``set_quiet`` takes; the token that it returns goes to ``reset_quiet``. ``None`` where there is none."""

_context = contextvars.Context()
if QUIET is not None:
    _context.run(set_quiet, QUIET)
run_quietly = _context.run
"""``run_quietly(kernel, *arrays)``: a kernel in a context that is made once, in which nothing but this is set.

That costs 25 ns where setting and resetting the variable costs 440.  ``RuntimeError`` while another thread is in it.
"""


def is_entered_elsewhere(error: RuntimeError) -> bool:
    """Whether ``run_quietly`` refused because another thread is in its context: then nothing has been computed."""
    return "cannot enter context" in str(error)
