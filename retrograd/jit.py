"""The face of ``torch.jit``: functions as they are, since nothing is compiled."""

from .engine.devices.uncompiled import NAMES

globals().update(NAMES)

__all__ = [*NAMES]  # noqa: PLE0604
