"""``torch.testing``: tensors held against each other, and random ones to try things on."""

from .comparison import assert_allclose, assert_close
from .creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
