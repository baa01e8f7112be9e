"""``torch.autograd.graph``: re-exports only."""

from ..engine.execution.backward import _engine_run_backward
from ..engine.execution.logging_ import _register_logging_hooks_on_whole_graph
from ..engine.graph.hooks import (
    _saved_tensors_hooks_get_disabled_error_message,
    disable_saved_tensors_hooks,
    region_activation_memory_budget,
    register_multi_grad_hook,
    save_on_cpu,
    save_on_disk,
    set_override_stale_capture_stream,
    set_warn_on_accumulate_grad_stream_mismatch,
)
from ..engine.graph.interface import Node, _get_grad_fn_or_grad_acc, increment_version, saved_tensors_hooks
from ..engine.graph.mutation import allow_mutation_on_saved_tensors
from ..engine.nodes.edges import GradientEdge, get_gradient_edge
from ..engine.nodes.hooks import RemovableHandle, _MultiHandle

__all__ = [
    "GradientEdge", "Node", "RemovableHandle", "_MultiHandle", "_engine_run_backward", "_get_grad_fn_or_grad_acc",
    "_register_logging_hooks_on_whole_graph", "_saved_tensors_hooks_get_disabled_error_message",
    "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
    "region_activation_memory_budget", "register_multi_grad_hook", "save_on_cpu", "save_on_disk",
    "saved_tensors_hooks", "set_override_stale_capture_stream", "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip
