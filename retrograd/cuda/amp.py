"""The face of ``torch.cuda.amp``: re-exports only."""

from ..engine.devices.grad_scaler import GradScaler
from ..engine.devices.mixed_precision import cuda_autocast as autocast
from ..engine.devices.mixed_precision import cuda_custom_bwd as custom_bwd
from ..engine.devices.mixed_precision import cuda_custom_fwd as custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
