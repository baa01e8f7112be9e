"""The face of ``torch.compiler``: functions as they are, since nothing is compiled."""

from .engine.devices.uncompiled import NAMES, compile, list_backends  # noqa: A004 - torch's name

globals().update(NAMES)
assume_constant_result = NAMES["disable"]


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no graphs of a GPU's calls."""


__all__ = [  # noqa: PLE0604
    *NAMES, "assume_constant_result", "compile", "cudagraph_mark_step_begin", "list_backends",
]  # fmt: skip
