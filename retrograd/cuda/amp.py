"""The face of ``torch.cuda.amp``: re-exports only."""

from ..engine.devices.mixed_precision import GradScaler
from ..engine.devices.mixed_precision import cuda_autocast as autocast

__all__ = ["GradScaler", "autocast"]
