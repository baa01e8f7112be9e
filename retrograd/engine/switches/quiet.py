"""Computing without NumPy's floating-point warnings, as PyTorch does.

``np.errstate`` costs more than a small operation, so its context variable is set directly where NumPy has it.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np

QUIET: Any
"""What ``set_quiet`` takes; the token that it returns goes to ``reset_quiet``.  ``None`` where NumPy has none of them:
then no fast path is generated."""
set_quiet: Any = None
reset_quiet: Any = None
_context = contextvars.Context()
try:
    from numpy._core._ufunc_config import _extobj_contextvar  # type: ignore[attr-defined, unused-ignore]
    from numpy._core.umath import _make_extobj  # type: ignore[attr-defined, unused-ignore]

    QUIET = _make_extobj(all="ignore")
    set_quiet, reset_quiet = _extobj_contextvar.set, _extobj_contextvar.reset
    _context.run(set_quiet, QUIET)
except (ImportError, TypeError):  # another NumPy: the public way
    QUIET = None


def quietly(function: Callable[..., Any], args: Any) -> Any:
    """``function(*args)`` with floating-point errors ignored."""
    if QUIET is None:
        with np.errstate(all="ignore"):
            return function(*args)
    token = set_quiet(QUIET)
    try:
        return function(*args)
    finally:
        reset_quiet(token)


run_quietly = _context.run
"""``run_quietly(kernel, *arrays)``: a kernel in a context that is made once, in which nothing but this is set.

That costs 25 ns where setting and resetting the variable costs 440.  ``RuntimeError`` while another thread is in it.
"""


def is_entered_elsewhere(error: RuntimeError) -> bool:
    """Whether ``run_quietly`` refused because another thread is in its context: then nothing has been computed."""
    return "cannot enter context" in str(error)
