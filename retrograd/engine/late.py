"""Late binding: names in lower packages that higher ones set when they are loaded.

It keeps imports running down.  Nothing is imported here, and every slot is filled once, by the file that it names.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any

tensor_class: type[Any]
"""The class of results (``tensors/tensor.py``)."""

parameter_class: type[Any] = NoneType
"""The class of parameters, which compute as plain tensors do (``tensors/parameter.py``); nothing is of it
until that is loaded."""

unresolved_class: type[Any] = NoneType
"""The class of tensors that are conjugated or negated when they are read (``tensors/unresolved.py``)."""

batched_class: type[Any] = NoneType
"""The class of tensors that are entries of a batch (``tensors/batched.py``)."""

caller_of: Callable[[Any], Callable[..., Any]]
"""Row -> the function that calls of it go to (``calls/dispatch.py``)."""

find_edge: Callable[[Any], Any]
"""Tensor -> its gradient edge (``aliasing/views.py``)."""

restore_tangent: Callable[[Any, Any, int], None]
"""Gives an unpacked output its tangent back: tensor, node, number of the output (``forward_mode/forward_ad.py``)."""
