"""Attaches the public functions to ``Tensor``."""

from __future__ import annotations

from . import ops, surface
from .core.attributes import guard
from .meta import computing  # noqa: F401  (which answers for tensors without memory)
from .table.public import FUNCTIONS, METHODS, PROPERTIES, SETTERS, publish_rows
from .tensors import batched
from .tensors.parameter import Parameter  # generated calls compare with it
from .tensors.tensor import Tensor
from .tensors.unresolved import Unresolved

publish_rows()
for _name, _method in METHODS.items():
    if _name not in Tensor.__dict__ or _name in ("__iter__",):
        setattr(Tensor, _name, _method)
for _name, _getter in PROPERTIES.items():
    setattr(Tensor, _name, property(_getter, SETTERS.get(_name)))
guard(Tensor)
batched.complete()

__all__ = ["FUNCTIONS", "Parameter", "Tensor", "Unresolved", "ops", "surface"]
