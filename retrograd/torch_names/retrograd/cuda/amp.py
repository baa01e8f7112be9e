"""``torch.cuda.amp``: re-exports only."""

import sys

from ..engine.devices.grad_scaler import GradScaler
from ..engine.devices.mixed_precision import cuda_autocast as autocast
from ..engine.devices.mixed_precision import cuda_custom_bwd as custom_bwd
from ..engine.devices.mixed_precision import cuda_custom_fwd as custom_fwd

# PyTorch has them in files of these names.
autocast_mode = grad_scaler = sys.modules[__name__]
sys.modules |= {f"{__name__}.{name}": autocast_mode for name in ("autocast_mode", "grad_scaler")}

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
