"""Statistics of steps on our engine: norms by NumPy."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from ....interpreter import getframe
from ...histories.history import Array
from ...program.frames import user_frame
from ...sources.array_values import has_data
from ...sources.patches import Patches
from . import GraphSize, Hearing, StepReader, graph_behind
from .arrays import ArrayReader
from .wrappers import tell_scaling, telling_clipping


class OwnEngine:
    """Our engine."""

    name = "retrograd"
    module = "retrograd.optim"

    @contextmanager
    def hear(self, hearing: Hearing) -> Iterator[None]:
        """Observe the engine."""
        observe = importlib.import_module("retrograd.engine.observe")
        observer = _Observer(hearing)
        observe.add(observer)
        optimizer = importlib.import_module("retrograd.optim.optimizer")
        handles = [
            optimizer.register_optimizer_step_pre_hook(
                lambda one, args, kwargs: hearing.step_begins(one, closure=any(map(callable, args[1:])) or bool(kwargs))
            ),
            optimizer.register_optimizer_step_post_hook(lambda one, args, kwargs: hearing.step_ended(one)),
        ]
        patches = Patches()
        clip = importlib.import_module("retrograd.nn.utils.clip_grad")
        patches.wrap(clip, "clip_grads_with_norm_", lambda original: telling_clipping(original, hearing))
        scaler = importlib.import_module("retrograd.engine.devices.grad_scaler").GradScaler
        tell_scaling(patches, scaler, hearing)
        try:
            yield
        finally:
            patches.undo()
            observe.remove(observer)
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
        retrograd = sys.modules["retrograd"]
        state = retrograd.get_rng_state()
        return lambda: retrograd.set_rng_state(state)

    def graph_size(self, root: Any, most: int) -> GraphSize:
        """Measure the graph behind a tensor, of at most ``most`` nodes; nothing is unpacked."""
        return graph_behind(root.grad_fn, most, kept_memories, _memory)

    def memory(self) -> float | None:
        """Return None: the process has it all."""
        return None

    def available(self) -> bool:
        """Whether the program has loaded its optimizers."""
        return self.module in sys.modules


class _Observer:
    """Passes on what is called here; every step is taken as a whole."""

    hears_updates = False

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing

    def backward_called(self, api: str, outputs: Sequence[Any], *_: Any) -> None:
        """Tell of a run into leaves."""
        if api == "backward":
            self._hearing.backward(outputs, user_frame(getframe(1)))


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
