"""Statistics of steps on our engine: norms by NumPy."""

from __future__ import annotations

import importlib
import sys
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from ....interpreter import getframe
from ...histories.history import Array
from ...program.frames import user_frame
from ...sources.array_values import has_data
from ...sources.importing import AfterImport
from ...sources.patches import Patches
from . import GraphSize, Hearing, Pass, StepReader, graph_behind, leaves_behind
from .arrays import ArrayReader
from .wrappers import tell_scaling, tell_schedules, telling_clipping

_OPTIMIZER = "retrograd.optim.optimizer"
_CLIPPING = "retrograd.nn.utils.clip_grad"
_SCHEDULERS = "retrograd.optim.lr_scheduler"
_SCALER = "retrograd.engine.devices.grad_scaler"


class OwnEngine:
    """Our engine."""

    name = "retrograd"
    module = "retrograd._face"

    @contextmanager
    def hear(self, hearing: Hearing) -> Iterator[None]:
        """Observe the engine."""
        observe = importlib.import_module("retrograd.engine.observe")
        observer, patches, handles = _Observer(hearing), Patches(), list[Any]()

        def scalers() -> None:
            tell_scaling(patches, sys.modules[_SCALER].GradScaler, hearing)

        def clipping() -> None:
            wrap = partial(telling_clipping, hearing=hearing)
            patches.wrap(sys.modules[_CLIPPING], "clip_grads_with_norm_", wrap)

        observe.add(observer)
        try:
            places = {
                _SCALER: scalers,
                _CLIPPING: clipping,
                _OPTIMIZER: lambda: _tell_steps(hearing, handles),
                _SCHEDULERS: lambda: tell_schedules(patches, sys.modules[_SCHEDULERS], hearing),
            }
            with _once_imported(places):
                yield
        finally:
            observe.remove(observer)
            patches.undo()
            for handle in handles:
                handle.remove()

    def own_work(self) -> AbstractContextManager[Any]:
        """Return the context manager in which our own code may use tensors."""
        return nullcontext()

    def reader(self, parameters: Sequence[Any]) -> StepReader:
        """Return a reader of the statistics of these parameters."""
        return ArrayReader(parameters, _array)

    def is_tensor(self, value: object) -> bool:
        """Whether something is a tensor of our engine."""
        module = sys.modules.get("retrograd.engine.tensors.tensor")
        return module is not None and issubclass(type(value), module.Tensor)

    def held(self, root: Any) -> Any:
        """Return the value of a loss; the mean of the finite entries where it has several: others may be masks."""
        array = _array(root)
        return float(np.mean(array if array.size == 1 else array[np.isfinite(array)]))

    def number(self, value: Any) -> float:
        """Return what ``held`` gave."""
        return float(value)

    def copy(self, tensor: Any) -> Any:
        """Return a copy of a tensor's values."""
        return _array(tensor).copy()

    def nonzero(self, tensor: Any) -> Array:
        """Return which entries of a tensor are not zero."""
        return np.asarray(_array(tensor) != 0)

    def write(self, tensor: Any, value: Any) -> None:
        """Write values into a tensor."""
        np.copyto(_array(tensor), value)

    def ready_again(self, scaler: Any) -> None:
        """Let a scaler take the step that it has taken, or left out, once more."""
        scaler._start_stages()

    def why_not_repeated(self) -> str:
        """Return nothing: all is in memory."""
        return ""

    def random_states(self) -> Callable[[], None]:
        """Note the state of the generator."""
        generator = importlib.import_module("retrograd.engine.random")
        state = generator.get_rng_state()
        return lambda: generator.set_rng_state(state)

    def witness(self, node: Any) -> weakref.ref[Any]:
        """Return a reference to the node itself."""
        return weakref.ref(node)

    def leaves(self, roots: Sequence[Any]) -> list[Any]:
        """Return the leaves behind tensors."""
        return leaves_behind([one.grad_fn for one in roots])

    def graph_size(self, root: Any) -> GraphSize:
        """Measure the graph behind a tensor; nothing is unpacked."""
        return graph_behind(root.grad_fn, kept_memories, _memory)

    def memory(self) -> float | None:
        """Return None: the process has it all."""
        return None

    def available(self) -> bool:
        """Whether the program has loaded it."""
        return self.module in sys.modules


@contextmanager
def _once_imported(callbacks: dict[str, Callable[[], None]]) -> Iterator[None]:
    """Call functions in a block, each as soon as its module is there."""
    waiting = [AfterImport(name, callback) for name, callback in callbacks.items() if name not in sys.modules]
    for name, callback in callbacks.items():
        if name in sys.modules:
            callback()
    for one in waiting:
        one.begin()
    try:
        yield
    finally:
        for one in waiting:
            one.end()


def _tell_steps(hearing: Hearing, handles: list[Any]) -> None:
    """Tell of the steps of optimizers."""
    optimizer = sys.modules[_OPTIMIZER]
    handles += [
        optimizer.register_optimizer_step_pre_hook(
            lambda one, args, kwargs: hearing.step_begins(one, closure=any(map(callable, args[1:])) or bool(kwargs))
        ),
        optimizer.register_optimizer_step_post_hook(lambda one, args, kwargs: hearing.step_ended(one)),
    ]


class _Observer:
    """Passes on what is called here; every step is taken as a whole."""

    hears_updates = False

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._running: list[Pass | None] = []

    def backward_called(self, api: str, outputs: Any, _: Any, inputs: Any, retain: bool, create_graph: bool) -> None:
        """Tell of a pass, unless its results have a graph and are no gradients of leaves."""
        of = Pass(_tensors(outputs), _tensors(inputs), api == "backward")
        wanted = of.into_leaves or (of.inputs and not create_graph)
        self._running.append(of if wanted else None)
        if wanted:
            self._hearing.backward(of, user_frame(getframe(1)))

    def backward_left(self, results: Any, error: BaseException | None) -> None:
        """Tell that it is over."""
        of = self._running.pop() if self._running else None
        if of is not None:
            self._hearing.backward_ended(of, results, raised=error is not None)


def _tensors(given: Any) -> list[Any]:
    """Return the tensors among the roots or inputs of a pass."""
    values = given.values() if isinstance(given, dict) else given if isinstance(given, (list, tuple)) else [given]
    return [one for one in values if ENGINE.is_tensor(one)]


def kept_memories(node: Any) -> dict[Hashable, int]:
    """Return the memories that a node saves, with their bytes; nothing if hooks packed one."""
    facts = importlib.import_module("retrograd.inspect.sources.engine_.backward.facts")
    return {id(facts.memory_of(array)): array.nbytes for array in facts.saved_arrays(node) or ()}


def _memory(tensor: Any) -> Hashable:
    facts = importlib.import_module("retrograd.inspect.sources.engine_.backward.facts")
    return id(facts.memory_of(_array(tensor)))


def _array(tensor: Any) -> Array:
    """Return the memory of a tensor."""
    array = tensor._array
    return array if has_data(array) else np.zeros(0, np.float32)


ENGINE = OwnEngine()
