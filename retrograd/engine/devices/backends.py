"""``torch.backends``: settings of libraries that are not used here; they can be set and read, without effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Backend:
    """The settings of one library, with the values that they have before anybody sets them."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def is_available(self) -> bool:
        """Whether the library is there: no."""
        return False

    is_built = is_available

    def version(self) -> None:
        """Its version: none."""

    @contextmanager
    def flags(self, **settings: Any) -> Iterator[None]:
        """The settings changed for a while."""
        before = dict(self.__dict__)
        self.__dict__.update(settings)
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(before)


cudnn = Backend(enabled=True, benchmark=False, deterministic=False, allow_tf32=True, benchmark_limit=10)
cuda = Backend(matmul=Backend(allow_tf32=False, allow_fp16_reduced_precision_reduction=True))
mps, mkl, openmp, xnnpack = Backend(), Backend(), Backend(), Backend(enabled=False)
mkldnn = Backend(enabled=True, deterministic=False, allow_tf32=True)
opt_einsum = Backend(enabled=False, strategy=None)
