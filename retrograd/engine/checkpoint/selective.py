"""Names of PyTorch's selective checkpointing, which needs to intercept every operator and is not available here."""

from __future__ import annotations

import enum
from typing import Any


class CheckpointPolicy(enum.Enum):
    """What selective checkpointing does with an operator's result."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


def create_selective_checkpoint_contexts(*_args: Any, **_kwargs: Any) -> Any:
    """Not available: operators cannot be intercepted one by one."""
    raise NotImplementedError(
        "selective checkpointing is not available in retrograd: operators cannot be intercepted one by one; "
        "checkpoint the parts whose results should be recomputed with use_reentrant=False."
    )
