"""The face of ``torch.amp``: re-exports only."""

from .engine.devices.grad_scaler import GradScaler
from .engine.devices.mixed_precision import autocast, custom_bwd, custom_fwd, is_autocast_available

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
