"""The face of ``torch.amp``: re-exports only."""

from .engine.devices.mixed_precision import GradScaler, autocast

__all__ = ["GradScaler", "autocast"]
