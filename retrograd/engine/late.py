"""Late binding: names in lower packages that higher ones set when they are loaded.

It keeps imports running down.  Nothing is imported here, and every slot is filled once, by the file that it names.
"""

from __future__ import annotations

from typing import Any

tensor_class: Any
"""The class of results (``tensors/tensor.py``)."""

parameter_class: Any = ()
"""The class of parameters, which compute as plain tensors do (``tensors/parameter.py``); empty until that is loaded."""

unresolved_class: Any = ()
"""The class of tensors that are conjugated or negated when they are read (``tensors/unresolved.py``)."""

batched_class: Any = ()
"""The class of tensors that are entries of a batch (``tensors/batched.py``)."""

caller_of: Any
"""Row -> the function that calls of it go to (``calls/dispatch.py``)."""

find_edge: Any
"""Tensor -> its gradient edge (``aliasing/views.py``)."""

restore_tangent: Any
"""Gives an unpacked output its tangent back: tensor, node, number of the output (``forward_mode/forward_ad.py``)."""
