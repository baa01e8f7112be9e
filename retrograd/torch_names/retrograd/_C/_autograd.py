"""``torch._C._autograd``: re-exports only."""

from ..engine.devices.device_types import DeviceType
from ..engine.execution.introspection import keeps_graph as _get_current_graph_task_keep_graph
from ..engine.graph.hooks import (
    _pop_saved_tensors_default_hooks,
    _push_saved_tensors_default_hooks,
    _saved_tensors_hooks_disable,
    _saved_tensors_hooks_enable,
    _saved_tensors_hooks_get_disabled_error_message,
    _saved_tensors_hooks_is_enabled,
    _top_saved_tensors_default_hooks,
)
from ..engine.nodes.internals import _make_saved_tensor, _unsafe_set_version_counter
from ..engine.nodes.saved import SavedTensor

__all__ = [
    "DeviceType", "SavedTensor", "_get_current_graph_task_keep_graph", "_make_saved_tensor",
    "_pop_saved_tensors_default_hooks", "_push_saved_tensors_default_hooks", "_saved_tensors_hooks_disable",
    "_saved_tensors_hooks_enable",
    "_saved_tensors_hooks_get_disabled_error_message", "_saved_tensors_hooks_is_enabled",
    "_top_saved_tensors_default_hooks", "_unsafe_set_version_counter",
]  # fmt: skip
