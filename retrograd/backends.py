"""The face of ``torch.backends``: re-exports only."""

from .engine.devices.backends import cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, xnnpack

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "xnnpack"]
