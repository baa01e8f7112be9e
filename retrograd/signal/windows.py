"""The face of ``torch.signal.windows``: everything published in that namespace."""

from __future__ import annotations

from ..engine import methods  # noqa: F401  (fills the namespaces)
from ..engine.public import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["signal.windows"])
__all__ = sorted(_NAMESPACES["signal.windows"])  # noqa: PLE0605
