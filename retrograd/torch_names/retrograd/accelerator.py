"""``torch.accelerator``: there is no such device."""

from .engine.devices.accelerator import NAMES

globals().update(NAMES)

__all__ = [*NAMES]  # noqa: PLE0604
