"""``torch._custom_op``-shaped face of the old operator interface; deprecated, use ``retrograd.library``."""

from . import autograd, impl

__all__ = ["autograd", "impl"]
