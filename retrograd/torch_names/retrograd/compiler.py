"""``torch.compiler``: functions as they are, since nothing is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from .engine.devices.uncompiled import NAMES, compile, list_backends  # noqa: A004 - torch's name

globals().update(NAMES)
assume_constant_result = nested_compile_region = NAMES["disable"]
config = SimpleNamespace(job_id=None, force_disable_caches=False)
"""Settings that programs make; noted only."""


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no graphs of a GPU's calls."""


@contextmanager
def set_stance(stance: str = "default", **options: Any) -> Iterator[None]:
    """A block, or a decorator, that changes nothing: what is not compiled runs as it is, whatever is asked for."""
    yield


__all__ = [  # noqa: PLE0604
    *NAMES, "assume_constant_result", "compile", "config", "cudagraph_mark_step_begin", "list_backends",
    "nested_compile_region", "set_stance",
]  # fmt: skip
