"""PyTorch's warnings about deprecated names and uses; most are shown once in a process."""

from __future__ import annotations

from typing import Any, Final

from .warning import warn, warn_once

_REMOVED_LATER: Final = "will be removed in a future PyTorch release."
_TEXTS: Final = {
    "T": (
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw "
        "an error in a future release. Consider `x.mT` to transpose batches of matrices or "
        "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
    ),
    "H": "Tensor.H is deprecated on 0-D tensors. Consider using x.conj().",
    "meshgrid": "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
    "range": (
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end)."
    ),
    "qr": (
        f"torch.qr is deprecated in favor of torch.linalg.qr and {_REMOVED_LATER}\n"
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
        "Q, R = torch.qr(A, some)\nshould be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    ),
    "cholesky": (
        f"torch.cholesky is deprecated in favor of torch.linalg.cholesky and {_REMOVED_LATER}\n"
        "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\n"
        "U = torch.cholesky(A, upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH"
    ),
    "lu": (
        f"torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and {_REMOVED_LATER}\n"
        "LU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)"
    ),
    "lu_solve": (
        f"torch.lu_solve is deprecated in favor of torch.linalg.lu_solve and {_REMOVED_LATER}\n"
        "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\n"
        "should be replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)"
    ),
    "index_reduce": "index_reduce() is in beta and the API may change at any time.",
    "triangular_solve": (
        f"torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular and {_REMOVED_LATER}\n"
        "X = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B)."
    ),
    "chain_matmul": (
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    ),
    "cross": (
        "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
        "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a "
        "future release."
    ),
    "read-only array": (
        "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing "
        "to this tensor will result in undefined behavior. You may want to copy the array to protect its data or make "
        "it writable before converting it to a tensor."
    ),
    "read-only buffer": (
        "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write "
        "to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to "
        "protect its data or make it writable before converting it to a tensor."
    ),
    "asarray": (
        "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
        "requires_grad=False explicitly to get the old behavior and silence this warning."
    ),
    "complex to real": "Casting complex values to real discards the imaginary part",
    "resampling": "`nn.functional.{}` is deprecated. Use `nn.functional.interpolate` instead.",
    "dimensions": (
        "{0}: Received a {1}-D input to {0}, which is deprecated and will result in an error in a future release. To "
        "retain the behavior and silence this warning, please use dropout instead."
    ),
    "three dimensions": (
        "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - "
        "input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future "
        "release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
        "channel-wise dropout behavior, please switch to using dropout1d instead."
    ),
    "TypedStorage": (
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage directly, "
        "use tensor.untyped_storage() instead of tensor.storage()"
    ),
}


_SAID_ALWAYS: Final = ("range",)


def discourage(use: str, *details: Any) -> None:
    """Warn of a use that is still possible; ``details`` are put into its text."""
    text = _TEXTS[use].format(*details)
    (warn if use in _SAID_ALWAYS else warn_once)(text)
