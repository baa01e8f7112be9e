"""The exponential of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.registry import F
from ...rules.matrix_checks import check_square
from ...table.rows import function
from .products import adjoint

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


def _matrix_exp(self: Any) -> Any:
    """The exponential of matrices, by Pade approximation of degree 13 with scaling and squaring."""
    check_square("linalg.matrix_exp", self, half=True)
    if not self.size:
        return self.copy()
    wide = self.astype(np.result_type(self.dtype, np.float64))
    size = np.abs(wide).sum(-2).max(-1)
    squarings = np.maximum(0, np.ceil(np.log2(np.maximum(size, 1e-300) / 5.37))).astype(int)
    a = wide / (2.0**squarings)[..., None, None]
    eye = np.eye(a.shape[-1])
    a2 = a @ a
    a4, a6 = a2 @ a2, a2 @ a2 @ a2
    b = _PADE
    odd = a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    odd = a @ odd
    out = np.linalg.solve(even - odd, even + odd)
    for i in range(int(squarings.max())):
        out = np.where((squarings > i)[..., None, None], out @ out, out)
    return out.astype(self.dtype)


def _matrix_exp_back(g: Any, self: Any) -> Any:
    """The derivative is a block of the exponential of a block matrix."""
    n = self.shape[-1]
    ah = adjoint(self)
    top = F.cat([ah, g], -1)
    bottom = F.cat([F.zeros_like(ah), ah], -1)
    return F._slice(F._slice(F._matrix_exp(F.cat([top, bottom], -2)), -2, 0, n), -1, n, 2 * n)


function(
    "_matrix_exp", _matrix_exp, node="LinalgMatrixExpBackward0", self=_matrix_exp_back,
    # The rule is linear in g only as a whole, so it is not transposed but applied to the adjoint, whose adjoint it is.
    jvp=lambda primal, tangents, results: _matrix_exp_back(tangents[0], adjoint(primal[0])),
)  # fmt: skip
