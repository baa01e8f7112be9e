"""``torch.sparse``: products and sums of sparse tensors in coordinate form."""

from typing import Any

from .engine.core.registry import OPS
from .engine.sparse.functions import sampled_addmm
from .engine.sparse.functions import sparse_log_softmax as log_softmax
from .engine.sparse.functions import sparse_mm as mm
from .engine.sparse.functions import sparse_softmax as softmax
from .engine.sparse.functions import sparse_sum as sum  # noqa: A004 - torch's name


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """``beta * mat + alpha * (mat1 @ mat2)`` with a sparse ``mat1``."""
    return OPS["_sparse_addmm"](mat, mat1, mat2, beta, alpha)


__all__ = ["addmm", "log_softmax", "mm", "sampled_addmm", "softmax", "sum"]
