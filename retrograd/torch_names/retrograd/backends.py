"""``torch.backends``: re-exports only."""

import sys

from .engine.devices.backends import cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, xnnpack

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "xnnpack"]

# ``import torch.backends.cudnn as cudnn`` finds the settings themselves, which programs write to.
sys.modules |= {f"{__name__}.{name}": globals()[name] for name in __all__}
