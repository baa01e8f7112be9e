"""``torch.xpu``: there is no such device."""

from .engine.devices.absent import names_of

_names = names_of("xpu")
globals().update(_names)

__all__ = [*_names]  # noqa: PLE0604
