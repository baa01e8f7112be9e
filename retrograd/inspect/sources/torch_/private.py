"""Private names of PyTorch that we call: each is looked up once, here, with its substitute.

A release without one of them loses only the feature named beside it: the program runs as it would unwatched.
Names of attributes of tensors and nodes (``_version``, ``_base``, ``_sequence_nr``) are used where they are read,
inside ``own_work``, whose failures are noted and go no further.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import Any, NamedTuple

from .library import LIBRARY


class _Name(NamedTuple):
    """One function: where PyTorch has or had it, a substitute, and what is lost without it."""

    places: tuple[str, ...]
    instead: Callable[..., Any] | None
    lost: str = ""


def _nothing(*_: Any) -> None:
    return None


def _none(*_: Any) -> int:
    return 0


_NAMES = {
    "sequence_number": _Name(
        ("autograd._get_sequence_nr", "_C._autograd._get_sequence_nr"), _none, "the lines that made nodes are unknown"
    ),
    "push_mode": _Name(("overrides._push_mode", "_C._push_on_torch_function_stack"), None, "calls are not recorded"),
    "pop_mode": _Name(("overrides._pop_mode", "_C._pop_torch_function_stack"), None, "calls are not recorded"),
    "count_modes": _Name(
        ("overrides._len_torch_function_stack", "_C._len_torch_function_stack"), None, "calls are not recorded"
    ),
    "mode_at": _Name(("_C._get_function_stack_at",), None, "calls are not recorded"),
    "unobserved": _Name(
        ("_C.DisableTorchFunction", "_C.DisableTorchFunctionSubclass"),
        nullcontext,
        "the program's modes may see what is read of its tensors",
    ),
    "tracing_state": _Name(("_C._get_tracing_state",), _nothing),
    "is_compiling": _Name(("compiler.is_compiling", "compiler.is_dynamo_compiling"), _none),
    "running_node": _Name(("_C._current_autograd_node",), _nothing, "the node that runs is unknown"),
    "count_dispatch_modes": _Name(("_C._len_torch_dispatch_stack",), _none),
    "transform": _Name(("_C._functorch.peek_interpreter_stack",), _nothing),
    "transforms": _Name(("_C._functorch.get_interpreter_stack",), _nothing),
    "is_wrapped": _Name(("_C._functorch.is_functorch_wrapped_tensor",), _none),
    "is_legacy_batched": _Name(("_C._functorch.is_legacy_batchedtensor",), _none),
    "unwrap": _Name(("_C._functorch.get_unwrapped",), lambda tensor: tensor),
    "is_in_a_job": _Name(("distributed.is_initialized",), _none),
    "default_store": _Name(("distributed.distributed_c10d._get_default_store",), None),
    "prefix_store": _Name(("_C._distributed_c10d.PrefixStore",), None),
    "gloo": _Name(("_C._distributed_c10d.ProcessGroupGloo",), None),
    "gather_options": _Name(("_C._distributed_c10d.GatherOptions",), None),
    "broadcast_options": _Name(("_C._distributed_c10d.BroadcastOptions",), None),
    "rule_node": _Name(
        ("autograd.function.BackwardCFunction",), None, "custom Functions are taken for operators of PyTorch"
    ),
}
_PATCHED = {
    "autograd._engine_run_backward": "backward passes are not recorded",
    "autograd._make_grads": "backward passes that PyTorch refuses are not recorded",
    "_C._swap_tensor_impl": "tensors that were swapped keep the facts of before",
    "_C._from_dlpack": "tensors made by DLPack come from nowhere",
    "nn.utils.stateless._functional_call": "modules that are called with other tensors than their own are not recorded",
}
"""Names that are wrapped in place, and what is lost without them."""


class Private:
    """What this release of PyTorch has."""

    sequence_number: Any
    """Returns the number of nodes that the thread has made."""
    push_mode: Any
    pop_mode: Any
    count_modes: Any
    mode_at: Any
    unobserved: Any
    """A context manager in which no mode and no class of the program is called."""
    tracing_state: Any
    is_compiling: Any
    running_node: Any
    count_dispatch_modes: Any
    transform: Any
    """Returns the innermost transform of the thread; ``transforms`` returns all."""
    transforms: Any
    is_wrapped: Any
    is_legacy_batched: Any
    unwrap: Any
    is_in_a_job: Any
    default_store: Any
    """Returns the store where the processes of a job find each other; None without gloo."""
    prefix_store: Any
    gloo: Any
    gather_options: Any
    broadcast_options: Any
    rule_node: Any
    """The class of the nodes of custom Functions."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.lost: list[str] = []
        """A sentence for each missing name whose loss can be noticed."""
        for attribute, name in _NAMES.items():
            found = next((one for place in name.places if (one := _at(torch, place)) is not None), None)
            setattr(self, attribute, name.instead if found is None else found)
            if found is None and name.lost:
                self._lose(name.places[0], name.lost)
        for place, lost in _PATCHED.items():
            if _at(torch, place) is None:
                self._lose(place, lost)

    def _lose(self, place: str, lost: str) -> None:
        self.lost.append(f"PyTorch {self.torch.__version__} has no torch.{place}: {lost}")

    @property
    def hears_calls(self) -> bool:
        """Whether a mode can be pushed on a thread's stack and popped again."""
        return None not in (self.push_mode, self.pop_mode, self.count_modes, self.mode_at)

    def modes(self) -> list[Any]:
        """Return the function modes of the thread, the innermost last."""
        return [self.mode_at(place) for place in range(self.count_modes())]


def _at(torch: Any, path: str) -> Any:
    """Return the object at a dotted path in PyTorch, None if there is none; loads nothing."""
    found = torch
    for part in path.split("."):
        found = vars(found).get(part) if isinstance(found, ModuleType) else getattr(found, part, None)
    return found


HELD: list[Private] = []
"""The instances; a list, since torch.compile warns of cached functions that it traces."""


def private() -> Private:
    """Return the private names of the PyTorch that the program imported."""
    if not HELD:
        HELD.append(Private(LIBRARY.torch))
    return HELD[0]
