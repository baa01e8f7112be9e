"""``torch.utils.checkpoint``: re-exports of ``retrograd.engine.checkpoint``."""

from ..engine.checkpoint.frame import CheckpointError, GraphExecGroup, get_device_states, set_device_states
from ..engine.checkpoint.frame import StopRecomputation as _StopRecomputationError
from ..engine.checkpoint.run import (
    CheckpointFunction,
    check_backward_validity,
    checkpoint,
    checkpoint_sequential,
    detach_variable,
    noop_context_fn,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from ..engine.checkpoint.selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from ..engine.devices.device_types import DefaultDeviceType

__all__ = [
    "SAC_IGNORED_OPS",
    "SelectiveCheckpointContext",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "_StopRecomputationError",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]
