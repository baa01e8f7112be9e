"""The ``Source`` of PyTorch.  PyTorch is never imported here; it is used once the program has imported it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

from ....errors import NoGraphError
from ...graphs.graph import Graph
from ...program.signals import reraise_from_handler
from ...recording.tensor_table import TensorTable
from ..base import Gradient, Node, Ran, Sink
from ..collect import collect
from ..hook_lines import attach, labels_of
from ..naming import Naming, add_origins
from .backward.node_hooks import stepping
from .backward.release import protect
from .backward.repeats import Repeats
from .calls.saved import kept_memories
from .calls.saved_sizes import fill_from_nodes
from .calls.tensors import number_of
from .library import loaded_torch
from .objects.replay import TorchReplay
from .own_work import own_work
from .private import private
from .watching.watcher import WATCHER

NO_GRAPH = (
    "This tensor has no backward graph: it does not require gradients.",
    "Compute it from tensors with requires_grad=True, outside no_grad() and detach().",
)


class _Facts:
    """What the walk needs to know about PyTorch's nodes."""

    engine = "torch"

    def __init__(self, torch: Any) -> None:
        self._function = private().rule_node
        self.plain_tensors = frozenset({torch.Tensor, torch.nn.Parameter})

    def kind(self, node_type: type) -> str:
        """Distinguish leaves, custom Functions and CopySlices from ordinary operators."""
        if node_type.__name__ == "AccumulateGrad":
            return "leaf"
        if self._function is not None and issubclass(node_type, self._function):
            return "function"
        return "copy" if node_type.__name__ == "CopySlices" else "op"

    def saved_bytes(self, order: list[Node]) -> list[int | None]:
        """Return None for each: PyTorch does not know without unpacking."""
        return [None] * len(order)


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
        """Return where backward from this object starts."""
        torch = loaded_torch()
        with own_work():
            return [_start(torch, obj)]

    def snapshot(
        self,
        roots: list[Any],
        frame: FrameType | None,
        *,
        label: str = "walk",
        params: Mapping[str, Any] | None = None,
        find_names: bool = True,
    ) -> Graph:
        """Take a snapshot of the graph behind these objects."""
        return self.walked(roots, frame, label=label, params=params, find_names=find_names)[0]

    def walked(
        self,
        roots: list[Any],
        frame: FrameType | None,
        *,
        label: str,
        params: Mapping[str, Any] | None = None,
        find_names: bool = True,
        table: TensorTable | None = None,
        repeats: Repeats | None = None,
        ask_saved: bool = False,
    ) -> tuple[Graph, list[Node]]:
        """Take a snapshot of a graph and return it with its nodes; names of leaves are also set in the table.

        With ``repeats`` the columns of an equal earlier graph are reused; with ``ask_saved`` the saved tensors of nodes
        are read.
        """
        torch = loaded_torch()
        with own_work():
            facts, starts = _Facts(torch), [_start(torch, root)[0] for root in roots]
            repeated = None if repeats is None else repeats.snapshot(starts, frame, WATCHER.origins(), table)
            if repeated is not None:
                protect(repeated.order, repeated.snapshot)
                _name(table, repeated.snapshot, repeated.leaves, torch.nn.Parameter)
                return repeated.snapshot, repeated.order
            snapshot, order, leaves = collect(starts, facts)
            protect(order, snapshot)
            snapshot.label = label
            if ask_saved:
                fill_from_nodes(snapshot, order, kept_memories)
            add_origins(snapshot, WATCHER.origins())
            naming = Naming(torch.Tensor, roots, frame if find_names else None, params)
            naming.modules, naming.memory, naming.origins = WATCHER.modules(), WATCHER.memory, WATCHER.origins()
            naming.add_to(snapshot, order, leaves)
            _name(table, snapshot, leaves, torch.nn.Parameter)
            if repeats is not None:
                repeats.learn(order, frame, snapshot, leaves)
        return snapshot, order

    @contextmanager
    def log_hooks(
        self, roots: list[Any], frame: FrameType, log: Callable[[str], None], *, verbose: bool
    ) -> Iterator[None]:
        """Log each node behind these objects as it executes, until the block ends."""
        snapshot, order = self.walked(roots, frame, label="log")
        remove = attach(order, labels_of(snapshot), log, _read, verbose=verbose)
        del roots, order, snapshot, frame  # the hooks need none, and the user's tensors may die inside the block
        try:
            yield
        finally:
            remove()

    def watch(self, sink: Sink, *, every_thread: bool = True, level: str = "graph") -> AbstractContextManager[None]:
        """Send every backward pass to the sink, whether PyTorch is imported already or later."""
        return WATCHER.watch(sink, self, every_thread=every_thread, level=level)

    def steps(self, look: Callable[[Ran], None]) -> AbstractContextManager[None]:
        """Call ``look`` for each node that runs on this thread."""
        return stepping(look, self._nodes_behind, WATCHER.origins)

    def gradient(self, tensor: Any) -> Gradient:
        """Read a tensor's gradient."""
        torch = loaded_torch()
        with own_work(), torch.no_grad():
            held = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
            value = None if held is None else _entries(torch, held.detach())
            hidden = held is not None and value is None
            return Gradient(tensor.is_leaf, tensor.requires_grad, tensor.retains_grad, value, hidden)

    def replay(self) -> TorchReplay:
        """Return what runs Functions again."""
        return TorchReplay()

    def _nodes_behind(self, roots: list[Any]) -> list[Node]:
        """Return the nodes that a pass from these roots can reach; none if PyTorch is about to reject it."""
        torch = loaded_torch()
        with own_work():
            try:
                starts = [_start(torch, root)[0] for root in roots]
            except NoGraphError:
                return []
            snapshot, order, _ = collect(starts, _Facts(torch))
            protect(order, snapshot)
        return order


def _name(table: TensorTable | None, snapshot: Graph, leaves: dict[int, Any], parameter: type) -> None:
    """Give leaves the names that they have in the graph."""
    for place, leaf in leaves.items():
        name = snapshot.name[place]
        if table is not None and leaf is not None and name is not None:
            number = number_of(table, leaf)
            known = _is_parameter(leaf, parameter)
            if known or not table.entered(number).name:
                table.name(leaf, name, parameter=known)


def _is_parameter(leaf: Any, parameter: type) -> bool:
    """Return what ``isinstance`` would, which for a tensor of the program's own class calls its ``__getattr__``."""
    return parameter in type(leaf).__mro__ or bool(vars(leaf).get("_is_param"))


def _read(gradient: Any) -> Any:
    """Return the entries of a gradient that a hook receives."""
    torch = loaded_torch()
    with own_work(), torch.no_grad():
        return _entries(torch, gradient.detach())


def _entries(torch: Any, gradient: Any) -> Any:
    """Return the entries of a gradient as an array, for a sparse one the stored ones; None if unreadable."""
    try:
        if gradient.layout == torch.sparse_coo:
            gradient = gradient.coalesce().values()
        elif gradient.layout != torch.strided:
            gradient = gradient.to_dense()
        return gradient.to("cpu", torch.complex128 if gradient.is_complex() else torch.float64).numpy()
    except Exception as failure:  # without memory, or of a class that has none
        reraise_from_handler(failure)
        return None


def _start(torch: Any, obj: Any) -> tuple[Node, int]:
    """Return the node and input number at which backward from this object starts."""
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


SOURCE = TorchSource()
