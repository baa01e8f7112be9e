"""``DataParallel``: the mean of all ranks' gradients, reduced while backward still runs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..engine.execution.introspection import queue_outermost_callback
from ..engine.ops.creation.functions.creating import from_numpy
from ..errors import ReductionTimeoutError, UnreadyParametersError
from .communicator import Communicator, Pending, wait_until
from .connect import connect

# Gradients of several parameters in one array, so that few large reductions replace many small ones.
#
# Behind the gradients the array has one entry per parameter that says whether this rank had a gradient for it; the
# sum of those entries shows every rank on how many ranks it had one, without another message.

Named = tuple[str, Any]
"""A parameter with its name."""


class Bucket:
    """Some parameters of one dtype and the array that their gradients travel in."""

    def __init__(self, members: list[Named]) -> None:
        self.names = [name for name, _ in members]
        self._tensors = [tensor for _, tensor in members]
        sizes = [tensor.numel() for tensor in self._tensors]
        ends = np.cumsum(sizes).tolist()
        self._flags = ends[-1]
        # float16 sums lose too much, and few engines know them.
        dtype = np.promote_types(members[0][1].detach().numpy().dtype, np.float32)
        self._array = np.zeros(ends[-1] + len(members), dtype)
        self._views = [
            self._array[end - size : end].reshape(tuple(tensor.shape))
            for tensor, size, end in zip(self._tensors, sizes, ends, strict=True)
        ]
        self.arrived = [False] * len(members)
        """Which parameters have been put in."""
        self.pending: Pending | None = None
        self.clear()

    @property
    def nbytes(self) -> int:
        """Size of what travels."""
        return int(self._array.nbytes)

    @property
    def full(self) -> bool:
        """Whether every parameter has been put in."""
        return self._missing == 0

    def clear(self) -> None:
        """Forget the last round."""
        self.arrived = [False] * len(self._tensors)
        self._missing = len(self._tensors)
        self.pending = None

    def put(self, place: int, gradient: np.ndarray) -> None:
        """Take the gradient of one parameter."""
        self._views[place][...] = gradient
        self.arrived[place] = True
        self._missing -= 1

    def launch(self, communicator: Communicator) -> None:
        """Begin the reduction; parameters that have no gradient take part with zeros."""
        self._array[self._flags :] = self.arrived
        if self._missing:
            for view, arrived in zip(self._views, self.arrived, strict=True):
                if not arrived:
                    view[...] = 0
        self.pending = communicator.allreduce(self._array)

    def counts(self) -> list[int]:
        """Return for each parameter on how many ranks it had a gradient, after the reduction."""
        counts: list[int] = np.rint(self._array[self._flags :].real).astype(int).tolist()
        return counts

    def spread(self, divisor: int) -> None:
        """Give each parameter that had a gradient anywhere the sum over all ranks divided by ``divisor``."""
        counts = self.counts()
        self._array /= divisor
        for tensor, view, count in zip(self._tensors, self._views, counts, strict=True):
            if count:
                _set_gradient(tensor, view)


def _set_gradient(tensor: Any, values: np.ndarray) -> None:
    """Write into ``.grad``, which is made where this rank had none."""
    if tensor.grad is None:
        tensor.grad = tensor.detach() * 0
    tensor.grad.detach().copy_(from_numpy(values))


def plan(parameters: Iterable[Named], limit: int) -> list[Bucket]:
    """Fill buckets of up to ``limit`` bytes, last parameters first: backward mostly reaches them first."""
    open_: dict[Any, list[Named]] = {}
    sizes: dict[Any, int] = {}
    filled: list[list[Named]] = []
    for name, tensor in reversed(list(parameters)):
        key = tensor.dtype
        size = tensor.numel() * tensor.element_size()
        if open_.get(key) and sizes[key] + size > limit:
            filled.append(open_.pop(key))
        open_.setdefault(key, []).append((name, tensor))
        sizes[key] = (sizes[key] if len(open_[key]) > 1 else 0) + size
    return [Bucket(members) for members in [*filled, *open_.values()]]


_SHOWN = 8
"""Names listed in a message."""


class DataParallel:
    """Lets every backward pass leave in ``.grad`` the mean of the gradients of all ranks.

    ``parameters`` is a module, a mapping or list of pairs from names to leaf tensors, or a list of leaf tensors.
    Each of them must get a gradient on every rank in every run (unless ``unused="zero"``, where a rank without one
    counts as zero); the ranks must give the same parameters in the same order.

    Gradients travel in buckets of about ``bucket_bytes`` bytes; a bucket is sent as soon as its last gradient has
    been accumulated and all buckets before it were sent, so that all ranks send in one order.
    With ``broadcast`` the values of rank 0 are given to all ranks at once.

    At the end of a run raises ``UnreadyParametersError``, on all ranks alike, naming parameters that got no
    gradient on some ranks, or on this rank twice; and ``ReductionTimeoutError`` when another rank has not come
    within ``time_limit`` seconds.  ``remove()`` takes the hooks off again.
    """

    def __init__(
        self,
        parameters: Any,
        communicator: Communicator | None = None,
        *,
        bucket_bytes: int = 2**20,
        time_limit: float | None = 60.0,
        broadcast: bool = True,
        unused: str = "error",
    ) -> None:
        if unused not in ("error", "zero"):
            raise ValueError(f"unused is {unused!r}; it can be 'error' or 'zero'")
        named = _named(parameters)
        self.communicator = connect() if communicator is None else communicator
        self.time_limit = time_limit
        self.unused = unused
        self._buckets = plan(named, bucket_bytes)
        self._launched = 0
        self._begun = False
        self._twice: list[str] = []
        self._reducing = True
        self._handles = list(self._hooks(dict(named)))
        if broadcast:
            for _, tensor in named:
                values = tensor.detach().numpy().copy()
                self.communicator.broadcast(values)
                tensor.detach().copy_(tensor.new_tensor(values))

    def remove(self) -> None:
        """Take the hooks off the parameters."""
        while self._handles:
            self._handles.pop().remove()

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate in each rank alone, inside the block; the first run after it reduces the sum."""
        before, self._reducing = self._reducing, False
        try:
            yield
        finally:
            self._reducing = before

    # -- while backward passes
    def _hooks(self, tensors: Mapping[str, Any]) -> Iterator[Any]:
        """Hang a hook on every parameter."""
        for bucket in self._buckets:
            for place, name in enumerate(bucket.names):
                yield tensors[name].register_post_accumulate_grad_hook(functools.partial(self._take, bucket, place))

    def _take(self, bucket: Bucket, place: int, tensor: Any) -> None:
        """A parameter's gradient is there: send its bucket if that was the last one."""
        if not self._reducing:
            return
        if not self._begun:
            self._begun = True
            queue_outermost_callback(self._finish)
        if bucket.arrived[place]:
            self._twice.append(bucket.names[place])
            return
        bucket.put(place, tensor.grad.detach().numpy())
        if bucket.full:
            self._launch_full()

    def _launch_full(self) -> None:
        """Send the buckets that nothing is missing in, as far as none before them is left behind."""
        while self._launched < len(self._buckets) and self._buckets[self._launched].full:
            self._launch()

    def _launch(self) -> None:
        """Send the next bucket, and let those under way go on."""
        for bucket in self._buckets[: self._launched]:
            if bucket.pending is not None:
                bucket.pending.done()
        self._buckets[self._launched].launch(self.communicator)
        self._launched += 1

    # -- at its end
    def _finish(self) -> None:
        """Send what is left, wait for everything, and give the parameters their means."""
        try:
            while self._launched < len(self._buckets):
                self._launch()
            for bucket in self._buckets:
                self._wait(bucket)
            self._judge()
            for bucket in self._buckets:
                bucket.spread(self.communicator.world_size)
        finally:
            for bucket in self._buckets:
                bucket.clear()
            self._begun = False
            self._twice.clear()
            self._launched = 0

    def _wait(self, bucket: Bucket) -> None:
        """Wait for one reduction, but not for ever."""
        pending = bucket.pending
        assert pending is not None
        if not wait_until(pending.done, self.time_limit):
            pending.abandon()
            raise ReductionTimeoutError(
                f"Rank {self.communicator.rank} waited {self.time_limit:g} s for the other ranks' gradients of "
                f"{_listed(bucket.names)}: a rank has not come to the end of its backward pass.",
                "Look for a rank that raised, or that took another branch or fewer steps; "
                "record each rank with: retrograd trace -o run.json",
            )

    def _judge(self) -> None:
        """Reject gradients that are not a mean over all ranks; every rank decides the same."""
        world, rank = self.communicator.world_size, self.communicator.rank
        if self._twice:
            raise UnreadyParametersError(
                f"On rank {rank} the gradient of {_listed(self._twice)} was accumulated twice in one backward pass.",
                "Use each parameter in one part of the run, or reduce by hand after backward, inside no_sync().",
            )
        short = [
            (name, count, arrived)
            for bucket in self._buckets
            for name, count, arrived in zip(bucket.names, bucket.counts(), bucket.arrived, strict=True)
            if count < world
        ]
        if short and self.unused == "error":
            counts = ", ".join(
                f"{name} on {count} of {world} ranks ({'this one too' if arrived else 'not on this one'})"
                for name, count, arrived in short[:_SHOWN]
            )
            raise UnreadyParametersError(
                f"Some parameters got no gradient on every rank: {counts}"
                f"{'' if len(short) <= _SHOWN else f' and {len(short) - _SHOWN} more'}.",
                "Let the loss depend on them on every rank, leave them out, or pass unused='zero'.",
            )


def _named(parameters: Any) -> list[Named]:
    """Return the parameters with their names, each once; raises ``ValueError`` for what cannot be reduced."""
    if callable(getattr(parameters, "named_parameters", None)):
        pairs: Iterable[Any] = parameters.named_parameters()
    else:
        pairs = parameters.items() if isinstance(parameters, Mapping) else parameters
    named: dict[int, Named] = {}
    for place, entry in enumerate(pairs):
        name, tensor = entry if isinstance(entry, tuple) else (f"parameter {place}", entry)
        if not tensor.requires_grad or not tensor.is_leaf:
            raise ValueError(f"{name} is not a leaf that requires gradients; give only what is trained")
        named.setdefault(id(tensor), (str(name), tensor))
    if not named:
        raise ValueError("DataParallel got no parameters; give a module, a mapping or a list of leaf tensors")
    if len({name for name, _ in named.values()}) < len(named):
        raise ValueError("two parameters have the same name; names must be unique")
    return list(named.values())


def _listed(names: list[str]) -> str:
    """Return the first few names."""
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
