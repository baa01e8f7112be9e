"""Statistics of steps on PyTorch: norms by ``_foreach`` functions, read back once for each step and device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from ....interpreter import getframe
from ...histories.history import Array
from ...program.frames import user_frame
from ...sources.patches import Patches
from ...sources.torch_.calls.saved import kept_memories, memory_of
from ...sources.torch_.library import LIBRARY, loaded_torch
from ...sources.torch_.own_work import own_work
from . import MEASURED, GraphSize, Hearing, StepReader, graph_behind
from .arrays import ArrayReader
from .wrappers import tell_scaling, telling_clipping

_CLIPPING = ("_clip_grads_with_norm_", "clip_grad_norm_")
"""What scales gradients down, the first of these that this PyTorch has."""


class TorchReader:
    """Reads the statistics of some parameters; keeps one copy of their values before the step."""

    def __init__(self, parameters: Sequence[Any]) -> None:
        self._parameters = [_plain(one) for one in parameters]
        self._before: list[Any] = []
        self._norms: list[Any] = []
        self._sizes = np.array([max(one.numel(), 1) for one in self._parameters], np.float32)
        self._found: list[int] = []
        """Places of parameters that have gradients."""

    def before(self, *, gradients: bool) -> None:
        """Copy the parameters, and take the norms of their gradients unless the step computes these itself."""
        torch = LIBRARY.torch
        with torch.no_grad():
            if self._before:
                torch._foreach_copy_(self._before, self._parameters)
            else:
                self._before = [one.clone() for one in self._parameters]
            self._norms = []
            if gradients:
                self._read_gradients()

    def values(self) -> list[tuple[Any, Any]]:
        """Return each parameter with its value before the step."""
        return list(zip(self._parameters, self._before, strict=True))

    def after(self, others: Sequence[Any]) -> tuple[Array, list[float]]:
        """Return the statistics of the step, and the numbers in other tensors."""
        torch = LIBRARY.torch
        with torch.no_grad():
            if not self._norms:
                self._read_gradients()
            taken = [*self._norms, *_both(self._parameters, self._before, _distance), *others]
            numbers = _read(taken)
        return self._figures(numbers), numbers[len(taken) - len(others) :]

    def _read_gradients(self) -> None:
        """Take norms and counts of entries other than zero of the gradients that are there."""
        gradients = [(place, _plain(one.grad)) for place, one in enumerate(self._parameters) if one.grad is not None]
        self._found = [place for place, _ in gradients]
        found = [one for _, one in gradients]
        self._norms = _both(found, found, _nonzero)

    def _figures(self, numbers: list[float]) -> Array:
        """Put numbers in the order of ``MEASURED``; NaN where a parameter has no gradient."""
        count, found = len(self._parameters), self._found
        taken = np.array(numbers[: 2 * (len(found) + count)], np.float32)
        figures = np.full((len(MEASURED), count), np.nan, np.float32)
        norms, counts = taken[: len(found)], taken[len(found) : 2 * len(found)]
        figures[0, found], figures[3, found], figures[4, found] = norms, 1 - counts / self._sizes[found], 0
        figures[1:3] = taken[2 * len(found) :].reshape(2, count)
        for place in np.flatnonzero(~np.isfinite(norms)):
            figures[4, found[place]] = _share_of_bad(_plain(self._parameters[found[place]].grad))
        return figures


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
        tell_scaling(patches, torch.amp.GradScaler, hearing)
        try:
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

    def graph_size(self, root: Any, most: int) -> GraphSize:
        """Measure the graph behind a tensor, of at most ``most`` nodes; nothing is unpacked."""
        return graph_behind(root.grad_fn, most, kept_memories, memory_of)

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
        if kwargs.get("accumulate_grad"):
            hearing.backward(roots, user_frame(getframe(2)))
        return original(roots, *args, **kwargs)

    return run


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


def _share_of_bad(gradient: Any) -> float:
    """Return the share of entries that are NaN or infinite."""
    torch = LIBRARY.torch
    return float((~torch.isfinite(gradient)).float().mean())


ENGINE = TorchEngine()
