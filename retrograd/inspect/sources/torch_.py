"""PyTorch as the inspector sees it.  PyTorch is never imported here: it counts once the program has imported it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

from ...errors import NoGraphError
from ..frames import user_frames
from ..names import Found, ParameterName, frame_variables, parameter_names, search
from ..snapshot import GraphSnapshot
from .base import Node, Origins, Sink
from .collect import collect
from .hook_lines import attach
from .torch_release import protect
from .torch_watch import WATCHER

NO_GRAPH = (
    "This tensor has no backward graph: it does not require gradients.",
    "Compute it from tensors with requires_grad=True, outside no_grad() and detach().",
)


def loaded_torch() -> Any:
    """Return the torch module if the program has imported it (to the end), else None."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "Tensor") and hasattr(torch, "autograd") else None


class _Facts:
    """What the walk asks about PyTorch's nodes."""

    engine = "torch"

    def __init__(self, torch: Any) -> None:
        self._function = torch.autograd.function.BackwardCFunction

    def kind(self, node_type: type) -> str:
        """Tell leaves, custom Functions and CopySlices from ordinary operators."""
        if node_type.__name__ == "AccumulateGrad":
            return "leaf"
        if issubclass(node_type, self._function):
            return "function"
        return "copy" if node_type.__name__ == "CopySlices" else "op"

    def saved_bytes(self, order: list[Node]) -> list[int | None]:
        """PyTorch does not tell without unpacking."""
        return [None] * len(order)

    def leaves(self, order: list[Node], kinds: list[str]) -> dict[int, Any]:
        """Return the tensor of each AccumulateGrad."""
        return {place: node.variable for place, node in enumerate(order) if kinds[place] == "leaf"}


class TorchSource:
    """The source of PyTorch's graphs."""

    name = "torch"

    def owns(self, obj: object) -> bool:
        """Whether an object is a tensor, node or gradient edge of PyTorch."""
        torch = loaded_torch()
        if torch is None:
            return False
        graph = torch.autograd.graph
        return isinstance(obj, (torch.Tensor, graph.GradientEdge, graph.Node))

    def edges(self, obj: Any) -> list[tuple[Node, int]]:
        """Return where a backward run from this object would start."""
        torch = loaded_torch()
        with torch._C.DisableTorchFunction():
            return [_start(torch, obj)]

    def snapshot(
        self,
        roots: list[Any],
        frame: FrameType | None,
        *,
        label: str = "walk",
        params: Mapping[str, Any] | None = None,
        find_names: bool = True,
    ) -> GraphSnapshot:
        """Picture the graph behind these objects."""
        torch = loaded_torch()
        with torch._C.DisableTorchFunction():
            facts = _Facts(torch)
            shot, order = collect([_start(torch, root)[0] for root in roots], facts)
            protect(order, shot)
            shot.label = label
            _add_origins(shot, WATCHER.origins())
            leaves = facts.leaves(order, shot.kind)
            _add_names(shot, order, leaves, _Naming(torch, roots, frame if find_names else None, params))
        return shot

    def log_hooks(self, roots: list[Any], log: Callable[[str], None], *, verbose: bool) -> AbstractContextManager[None]:
        """Log each node behind these objects as it executes, until the block ends."""
        return self._log_hooks(roots, log, verbose)

    @contextmanager
    def _log_hooks(self, roots: list[Any], log: Callable[[str], None], verbose: bool) -> Iterator[None]:
        torch = loaded_torch()
        with torch._C.DisableTorchFunction():
            shot, order = collect([_start(torch, root)[0] for root in roots], _Facts(torch))
            protect(order, shot)
        remove = attach(order, torch._C._current_autograd_node, log, verbose=verbose)
        del order
        try:
            yield
        finally:
            remove()

    def watch(self, sink: Sink, *, every_thread: bool = True) -> AbstractContextManager[None]:
        """Tell the sink of every backward run, whether PyTorch is imported by now or later."""
        return WATCHER.watch(sink, self, every_thread=every_thread)


def _start(torch: Any, obj: Any) -> tuple[Node, int]:
    """Return the node and input number at which a backward run from this object would start."""
    if isinstance(obj, torch.Tensor):
        node = obj.grad_fn
        if node is not None:
            return node, obj.output_nr
        if not obj.requires_grad:
            raise NoGraphError(*NO_GRAPH)
        return torch.autograd.graph.get_gradient_edge(obj).node, 0
    if isinstance(obj, torch.autograd.graph.GradientEdge):
        return obj.node, obj.output_nr
    return obj, 0


class _Naming:
    """What names can be found from."""

    def __init__(self, torch: Any, roots: list[Any], frame: FrameType | None, params: Mapping[str, Any] | None) -> None:
        self.torch = torch
        self.roots = roots
        self.frame = frame
        self.given = {id(tensor): name for name, tensor in params.items()} if params else {}

    def is_tensor(self, value: object) -> bool:
        """Whether a variable holds a tensor."""
        return issubclass(type(value), self.torch.Tensor)

    def search(self, wanted: set[int]) -> tuple[Found, dict[int, ParameterName]]:
        """Look for leaves in modules and variables, and for roots among the variables themselves."""
        variables = frame_variables(user_frames(self.frame))
        found = search(variables, {id(root) for root in self.roots}, self.is_tensor, deep=False)
        if not wanted:
            return found, {}
        modules = WATCHER.modules()
        parameters = parameter_names(modules, wanted)
        if len(parameters) < len(wanted):
            deeper = search(variables, wanted - parameters.keys(), self.is_tensor)
            found.variables = {**deeper.variables, **found.variables}
            parameters = parameter_names([*modules, *deeper.modules], wanted)
        return found, parameters


def _add_origins(shot: GraphSnapshot, origins: Origins | None) -> None:
    """Fill in source lines and scopes."""
    if origins is None:
        shot.source, shot.scope = [None] * len(shot), [""] * len(shot)
    else:
        shot.source, shot.scope = origins.find(shot.seq)


def _add_names(shot: GraphSnapshot, order: list[Node], leaves: dict[int, Any], naming: _Naming) -> None:
    """Fill in the names of leaves, roots and intermediate results, and the scope of parameters."""
    shot.name = [None] * len(order)
    shot.root_names = [None] * len(naming.roots)
    names = naming.given
    if naming.frame is not None:
        wanted = {id(leaf) for leaf in leaves.values()} - names.keys()
        found, parameters = naming.search(wanted)
        names = {**found.variables, **{key: name.name for key, name in parameters.items()}, **names}
        _name_intermediates(shot, order, found.tensors)
        shot.root_names = [found.variables.get(id(root)) for root in naming.roots]
        watched = WATCHER.origins() is not None  # else operators have no scope, and a leaf would stand alone in one
        for place, leaf in leaves.items():
            if watched and id(leaf) in parameters:
                shot.scope[place] = parameters[id(leaf)].scope
    for place, leaf in leaves.items():
        shot.name[place] = names.get(id(leaf))


def _name_intermediates(shot: GraphSnapshot, order: list[Node], tensors: list[tuple[str, Any]]) -> None:
    """Name the nodes whose first output is a variable of the user.

    Asking a view that was written to for its ``grad_fn`` would make PyTorch build a node there and then, so
    such views are left alone.
    """
    if not tensors:
        return
    places = {node: place for place, node in enumerate(order)}
    for name, tensor in tensors:
        if tensor._is_view() and tensor._version:
            continue
        node = tensor.grad_fn
        place = None if node is None else places.get(node)
        if place is not None and shot.name[place] is None and shot.kind[place] != "leaf" and not tensor.output_nr:
            shot.name[place] = name


SOURCE = TorchSource()
