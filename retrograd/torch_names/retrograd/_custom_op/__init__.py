"""``torch._custom_op``: the old interface for declaring operators; deprecated, use ``retrograd.library``."""

from . import autograd, impl

__all__ = ["autograd", "impl"]
