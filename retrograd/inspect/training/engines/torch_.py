"""Statistics of steps on PyTorch: norms by ``_foreach`` functions, read back once for each step and device."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from ....interpreter import getframe
from ...histories.history import Array
from ...program.frames import user_frame
from ...sources.hidden_references import references_hidden
from ...sources.patches import Patches
from ...sources.torch_.calls.saved import kept_memories, memory_of
from ...sources.torch_.library import LIBRARY, loaded_torch
from ...sources.torch_.own_work import own_work
from ...sources.torch_.private import private
from . import MEASURED, GraphSize, Hearing, Pass, StepReader, graph_behind, leaves_behind
from .arrays import ArrayReader
from .wrappers import tell_scaling, tell_schedules, telling_clipping

_CLIPPING = ("_clip_grads_with_norm_", "clip_grad_norm_")
"""What scales gradients down, the first of these that this PyTorch has."""


class TorchReader:
    """Reads the statistics of some parameters; keeps one copy of their values before the step."""

    def __init__(self, parameters: Sequence[Any]) -> None:
        self.take(parameters)
        self._before: list[Any] = []
        self._norms: list[Any] = []
        self._sizes = np.array([max(one.numel(), 1) for one in self._parameters], np.float32)
        self._found: list[int] = []
        """Places of parameters that have gradients."""
        self._gradients: list[Any] = []
        """These, where more may have to be read of them."""
        self._bad: dict[int, float] = {}
        """Place -> share of a gradient's entries that are not finite, as far as read."""

    def take(self, parameters: Sequence[Any]) -> None:
        """Read these parameters, which have taken the places of the ones before; none, until others are given."""
        self._parameters = [_plain(one) for one in parameters]

    def keep(self, places: Sequence[int]) -> None:
        """Keep what was read of the parameters at some places."""
        self._before = [self._before[place] for place in places]
        self._sizes = self._sizes[list(places)]
        self._bad = {number: self._bad[place] for number, place in enumerate(places) if place in self._bad}
        rows = {place: row for row, place in enumerate(self._found)}
        chosen = [rows[place] for place in places if place in rows]
        self._norms = [self._norms[row + begin] for begin in (0, len(rows)) for row in chosen]
        self._found = [number for number, place in enumerate(places) if place in rows]

    def settle(self) -> None:
        """Read what would need gradients later: they may be gone then."""
        with LIBRARY.torch.no_grad():
            self._read_bad(np.array(_read(self._norms[: len(self._found)])))
        self._gradients = []

    def before(self, gradients: Sequence[Any] | None) -> None:
        """Copy the parameters, and take the norms of their gradients unless the step computes these itself."""
        torch = LIBRARY.torch
        with torch.no_grad():
            if self._before:
                torch._foreach_copy_(self._before, self._parameters)
            else:
                self._before = [one.clone() for one in self._parameters]
            self._norms, self._found = [], []
            if gradients is not None:
                self._read_gradients(gradients)

    def copies(self) -> list[Any]:
        """Return the values of the parameters before the step."""
        return list(self._before)

    def after(self, others: Sequence[Any]) -> tuple[Array, list[float]]:
        """Return the statistics of the step, and the numbers in other tensors."""
        torch = LIBRARY.torch
        with torch.no_grad():
            if not self._norms:
                self._read_gradients([one.grad for one in self._parameters])
            taken = [*self._norms, *_both(self._parameters, self._before, _distance), *others]
            numbers = _read(taken)
            self._read_bad(np.array(numbers[: len(self._found)]))
        self._gradients = []
        return self._figures(numbers), numbers[len(taken) - len(others) :]

    def _read_gradients(self, gradients: Sequence[Any]) -> None:
        """Take norms and counts of entries other than zero of the gradients that are there."""
        self._found = [place for place, one in enumerate(gradients) if one is not None]
        self._gradients = found = [_plain(gradients[place]) for place in self._found]
        self._norms, self._bad = _both(found, found, _nonzero), {}

    def _read_bad(self, norms: Array) -> None:
        """Read the shares of entries that are not finite, where norms are not."""
        for row, one in enumerate(self._gradients):
            if not np.isfinite(norms[row]):
                self._bad[self._found[row]] = float((~LIBRARY.torch.isfinite(one)).float().mean())

    def _figures(self, numbers: list[float]) -> Array:
        """Put numbers in the order of ``MEASURED``; NaN where a parameter has no gradient."""
        count, found = len(self._parameters), self._found
        taken = np.array(numbers[: 2 * (len(found) + count)], np.float32)
        figures = np.full((len(MEASURED), count), np.nan, np.float32)
        norms, counts = taken[: len(found)], taken[len(found) : 2 * len(found)]
        figures[0, found], figures[3, found], figures[4, found] = norms, 1 - counts / self._sizes[found], 0
        figures[1:3] = taken[2 * len(found) :].reshape(2, count)
        figures[4, list(self._bad)] = list(self._bad.values())
        return figures


class _Witness:
    """Lies among what a node holds for programs, and goes with it."""


class TorchEngine:
    """PyTorch."""

    name = "torch"
    module = "torch"

    @contextmanager
    def hear(self, hearing: Hearing) -> Iterator[None]:
        """Put hooks on all optimizers, and wrap the functions that run backward, clip and scale."""
        torch, patches = LIBRARY.torch, Patches()
        optimizer: Any = sys.modules[torch.optim.Optimizer.__module__]
        handles = [
            optimizer.register_optimizer_step_pre_hook(
                lambda one, args, kwargs: hearing.step_begins(one, closure=_has_closure(args, kwargs))
            ),
            optimizer.register_optimizer_step_post_hook(lambda one, args, kwargs: hearing.step_ended(one)),
        ]
        for holder in (torch.autograd.graph, torch.autograd):
            patches.wrap(holder, "_engine_run_backward", lambda original: _telling_backward(original, hearing))
        clip = torch.nn.utils.clip_grad
        name = next(name for name in _CLIPPING if hasattr(clip, name))
        patches.wrap(clip, name, lambda original: telling_clipping(original, hearing))
        tell_schedules(patches, torch.optim.lr_scheduler, hearing)
        tell_scaling(patches, torch.amp.GradScaler, hearing)
        try:
            with references_hidden():
                yield
        finally:
            patches.undo()
            for handle in handles:
                handle.remove()

    def own_work(self) -> AbstractContextManager[Any]:
        """Return the context manager in which our own code may use tensors."""
        return own_work()

    def reader(self, parameters: Sequence[Any]) -> StepReader:
        """Return a reader of the statistics of these parameters: by NumPy where that can read them where they lie."""
        torch = LIBRARY.torch
        plain = (torch.Tensor, torch.nn.Parameter)
        readable = all(
            type(one) in plain
            and one.is_cpu
            and one.layout == torch.strided
            and one.dtype in (torch.float32, torch.float64)
            for one in parameters
        )
        return ArrayReader(parameters, _array) if readable else TorchReader(parameters)

    def is_tensor(self, value: object) -> bool:
        """Whether something is a tensor of PyTorch's."""
        return issubclass(type(value), LIBRARY.torch.Tensor)

    def held(self, root: Any) -> Any:
        """Return the value of a loss without its history; of one with several entries the mean of the finite ones."""
        value = _plain(root.detach())
        if value.numel() == 1:
            return value
        value = value.float()
        return value.where(value.isfinite(), LIBRARY.torch.nan).nanmean()

    def number(self, value: Any) -> float:
        """Return the number in a tensor that ``held`` gave."""
        return float(value)

    def copy(self, tensor: Any) -> Any:
        """Return a copy of a tensor's values."""
        return tensor.detach().clone()

    def nonzero(self, tensor: Any) -> Array:
        """Return which entries of a tensor are not zero."""
        return np.asarray((_plain(tensor.detach()) != 0).numpy(force=True))

    def write(self, tensor: Any, value: Any) -> None:
        """Write values into a tensor."""
        with LIBRARY.torch.no_grad():
            _plain(tensor).copy_(LIBRARY.torch.as_tensor(value))

    def ready_again(self, scaler: Any) -> None:
        """Let a scaler take the step that it has taken, or left out, once more."""
        vars(scaler)["_per_optimizer_states"].clear()

    def why_not_repeated(self) -> str:
        """Return why a step cannot be run again in a child process, or nothing."""
        torch = LIBRARY.torch
        if torch.cuda.is_initialized():
            return "what is on a GPU is not there in a child process"
        together = torch.distributed.is_available() and torch.distributed.is_initialized()
        return "the other ranks would have to repeat it as well" if together else ""

    def random_states(self) -> Callable[[], None]:
        """Note the states of the generators of the CPU and of all devices in use."""
        torch = LIBRARY.torch
        state = torch.get_rng_state()
        devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []

        def put_back() -> None:
            torch.set_rng_state(state)
            if devices:
                torch.cuda.set_rng_state_all(devices)

        return put_back

    def witness(self, node: Any) -> weakref.ref[Any]:
        """Return a reference to something that is there as long as a node; its Python objects are not."""
        return weakref.ref(node.metadata.setdefault(_Witness, _Witness()))

    def leaves(self, roots: Sequence[Any]) -> list[Any]:
        """Return the leaves behind tensors."""
        return leaves_behind([one.grad_fn for one in roots])

    def graph_size(self, root: Any) -> GraphSize:
        """Measure the graph behind a tensor; nothing is unpacked."""
        return graph_behind(root.grad_fn, kept_memories, memory_of)

    def memory(self) -> float | None:
        """Return the bytes allocated on the devices, None on the CPU."""
        torch = LIBRARY.torch
        return float(torch.cuda.memory_allocated()) if torch.cuda.is_initialized() else None

    def available(self) -> bool:
        """Whether the program has imported PyTorch."""
        return loaded_torch() is not None


def _has_closure(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a step computes its gradients itself; hooks are given the optimizer first."""
    return callable(kwargs.get("closure")) or any(callable(one) for one in args[1:])


def _telling_backward(original: Callable[..., Any], hearing: Hearing) -> Callable[..., Any]:
    """Make PyTorch's function report each backward pass into leaves."""

    def run(roots: Any, *args: Any, **kwargs: Any) -> Any:
        of = _pass_of(roots, args, kwargs)
        if of is None:
            return original(roots, *args, **kwargs)
        hearing.backward(of, user_frame(getframe(2)))
        found, raised = None, True
        try:
            found, raised = original(roots, *args, **kwargs), False
        finally:
            hearing.backward_ended(of, found, raised=raised)
        return found

    return run


def _pass_of(roots: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Pass | None:
    """Return what is differentiated, as PyTorch's function is asked; None where results have a graph, or a batch."""
    gradients, _, create_graph, inputs = args[:4]
    into_leaves = bool(kwargs.get("accumulate_grad"))
    if not into_leaves and (create_graph or any(map(private().is_legacy_batched, gradients))):
        return None
    is_tensor = ENGINE.is_tensor
    return Pass([one for one in roots if is_tensor(one)], [one for one in inputs if is_tensor(one)], into_leaves)


def _plain(tensor: Any) -> Any:
    """Return the part of a tensor that lies in this process, without its history; a sparse one's entries."""
    value = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return value.coalesce().values() if value.is_sparse else value


def _array(tensor: Any) -> Array:
    """Return the memory of a tensor on the CPU; of a sparse one its entries."""
    value = tensor.detach().coalesce().values() if tensor.is_sparse else tensor
    return np.asarray(value.numpy(force=True))


def _both(tensors: Sequence[Any], others: Sequence[Any], second: Callable[[Any, Any], Any]) -> list[Any]:
    """Return the norms of tensors, and a second statistic of each: on the CPU in turn, while it is in the cache."""
    torch = LIBRARY.torch
    if tensors and tensors[0].is_cuda and all(one.dtype == torch.float32 for one in tensors):
        return [*torch._foreach_norm(tensors), *(second(*pair) for pair in zip(tensors, others, strict=True))]
    norms, figures = [], []
    for one, other in zip(tensors, others, strict=True):
        norms.append(torch.linalg.vector_norm(one, dtype=_wide(one.dtype)))
        figures.append(second(one, other))
    return [*norms, *figures]


def _nonzero(tensor: Any, _: Any) -> Any:
    """Return how many entries are not zero."""
    return LIBRARY.torch.count_nonzero(tensor)


def _distance(tensor: Any, other: Any) -> Any:
    """Return the norm of a difference; of those with a short dtype in float32, which does not overflow."""
    torch = LIBRARY.torch
    if tensor.dtype == torch.float32:
        return torch.dist(tensor, other)
    return torch.linalg.vector_norm(tensor - other, dtype=_wide(tensor.dtype))


def _wide(dtype: Any) -> Any:
    """Return the dtype in which a norm is taken."""
    torch = LIBRARY.torch
    if dtype.is_complex:
        return torch.complex128 if dtype == torch.complex128 else torch.complex64
    return dtype if dtype == torch.float64 else torch.float32


def _read(numbers: Sequence[Any]) -> list[float]:
    """Return the values of tensors of one entry each, by one read-back for each device and dtype."""
    torch = LIBRARY.torch
    found = [0.0] * len(numbers)
    alike: dict[Any, list[int]] = {}
    for place, one in enumerate(numbers):
        alike.setdefault((one.device, one.dtype, one.dim()), []).append(place)
    for places in alike.values():
        values = torch.stack([numbers[place] for place in places]).reshape(-1).tolist()
        for place, value in zip(places, values, strict=True):
            found[place] = value
    return found


ENGINE = TorchEngine()
