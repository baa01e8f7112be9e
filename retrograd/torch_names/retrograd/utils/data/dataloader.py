"""``DataLoader``: batches of a data set's samples."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle, repeat
from typing import Any

import numpy as np

from ...engine.methods import FUNCTIONS
from ...engine.tensors.tensor import Tensor
from ...engine.warning import warn
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed
from .workers import Exhausted, Worker

# One pass over a loader's data: in the program itself, or by workers in turns.


def pass_over(loader: Any) -> Pass:
    """A new pass, or the old one again where workers persist."""
    if loader.num_workers == 0:
        return Pass(loader)
    if not loader.persistent_workers:
        return PassInTurns(loader)
    if loader._iterator is None:
        loader._iterator = PassInTurns(loader)
    else:
        loader._iterator.restart()
    return loader._iterator  # type: ignore[no-any-return]


class Pass:
    """Reads batch after batch in the program itself."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._streamed = isinstance(loader.dataset, IterableDataset)
        self._base_seed = drawn_seed(loader.generator)  # PyTorch draws one for its workers, even where there are none
        if loader.pin_memory:
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used."
            )
        self.restart()

    def restart(self) -> None:
        """Begin again."""
        self._count = 0
        order = self._loader.sampler if self._loader.batch_sampler is None else self._loader.batch_sampler
        self._tasks: Iterator[Any] = repeat(None) if self._streamed else iter(order)
        self._start()

    def _start(self) -> None:
        self._groups: Iterator[Any] | None = None

    def __iter__(self) -> Pass:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        try:
            batch = self._next()
        except Exhausted:
            raise StopIteration from None
        self._count += 1
        if self._streamed:
            self._compare_length()
        return batch

    def _compare_length(self) -> None:
        reported = self._loader._reported_length
        if reported is not None and self._count > reported:
            warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {reported}(when accessing "
                f"len(dataloader)), but {self._count} samples have been fetched. "
            )

    def _next(self) -> Any:
        task = next(self._tasks)
        if not self._streamed:
            return self._read(task, self._loader.dataset)
        if self._groups is None:
            self._groups = self._grouped(self._loader.dataset)
        return self._collated(self._groups)

    def _read(self, task: Any, dataset: Any) -> Any:
        """A batch of a data set that is read by index."""
        if self._loader.batch_sampler is None:
            return self._loader.collate_fn(dataset[task])
        if getattr(dataset, "__getitems__", None):
            return self._loader.collate_fn(dataset.__getitems__(task))
        return self._loader.collate_fn([dataset[index] for index in task])

    def _grouped(self, samples: Iterable[Any]) -> Iterator[Any]:
        """A stream's samples one by one, or in lists of the batch size."""
        size, drop_last = self._loader.batch_size, self._loader.drop_last
        if size is None:
            return iter(samples)
        return _lists_of(samples, size, drop_last)

    def _collated(self, groups: Iterator[Any]) -> Any:
        for group in groups:
            return self._loader.collate_fn(group)
        raise Exhausted


def _lists_of(samples: Iterable[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    group: list[Any] = []
    for sample in samples:
        group.append(sample)
        if len(group) == size:
            yield group
            group = []
    if group and not drop_last:
        yield group


class PassInTurns(Pass):
    """Has workers read the batches, each the next one in turn, and gives them in order.

    Which batches they are is asked of the sampler as early as PyTorch asks, who has them read ahead.
    """

    def __init__(self, loader: Any) -> None:
        self._workers: list[Worker] | None = None
        super().__init__(loader)

    def _start(self) -> None:
        count = self._loader.num_workers
        if self._workers is None:
            self._workers = [Worker(number, self._loader, self._base_seed) for number in range(count)]
        self._streams: list[Iterator[Any] | None] = [None] * count
        self._active = [True] * count
        self._turns = cycle(range(count))
        self._pending: deque[tuple[int, Any]] = deque()
        for _ in range(self._loader.prefetch_factor * count):
            self._assign()

    def _assign(self) -> None:
        """Give the next batch to the next worker whose data have not ended."""
        for task in self._tasks:
            number = next((n for _, n in zip(self._active, self._turns, strict=False) if self._active[n]), None)
            if number is not None:
                self._pending.append((number, task))
            return

    def _next(self) -> Any:
        assert self._workers is not None
        while self._pending:
            number, task = self._pending.popleft()
            if not self._active[number]:
                continue
            read = partial(self._part, number) if self._streamed else partial(self._read, task)
            try:
                return self._workers[number].fetch(read)
            except Exhausted:
                self._active[number] = False
            finally:
                self._assign()
        raise Exhausted

    def _part(self, number: int, dataset: Any) -> Any:
        """The next batch of a worker's own stream."""
        groups = self._streams[number]
        if groups is None:
            groups = self._streams[number] = self._grouped(dataset)
        return self._collated(groups)


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as one: tensors stacked, numbers as tensors, containers element by element, texts as they are."""
    first = batch[0]
    if isinstance(first, Tensor):
        return FUNCTIONS["stack"](list(batch), 0)
    if isinstance(first, (np.ndarray, np.generic)):
        return FUNCTIONS["stack"]([FUNCTIONS["as_tensor"](sample) for sample in batch], 0)
    if isinstance(first, float):
        return FUNCTIONS["tensor"](list(batch)).double()
    if isinstance(first, int):
        return FUNCTIONS["tensor"](list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return type(first)({key: default_collate([sample[key] for sample in batch]) for key in first})  # type: ignore[call-arg]
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(column) for column in zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(column) for column in zip(*batch, strict=True)]
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found " + str(type(first))
    )


class DataLoader:
    """Goes through a data set in batches; each ``iter`` starts anew.

    Workers take turns in this process; ``pin_memory`` and the like have no effect.
    """

    _iterator: Any = None
    """The pass whose workers persist."""
    _reported_length: int | None = None
    """What ``len`` was, if somebody asked."""

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
        batch_sampler: Any = None, num_workers: int = 0, collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None,
        multiprocessing_context: Any = None, generator: Any = None, *, prefetch_factor: int | None = None,
        persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
    ) -> None:  # fmt: skip
        check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        streamed = isinstance(dataset, IterableDataset)
        if streamed:
            _refuse_order(shuffle=shuffle, sampler=sampler, batch_sampler=batch_sampler)
        _refuse_contradictions(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.dataset, self.num_workers, self.drop_last = dataset, num_workers, drop_last
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.persistent_workers, self.worker_init_fn, self.timeout = persistent_workers, worker_init_fn, timeout
        self.multiprocessing_context, self.in_order = multiprocessing_context, in_order
        self.batch_size = None if batch_sampler is not None else batch_size
        self.generator, self.pin_memory, self.pin_memory_device = generator, pin_memory, pin_memory_device
        if sampler is None and not streamed:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None and not streamed:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_collate if batch_size is not None else default_convert)
        self._finished = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and "_finished" in self.__dict__:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        return pass_over(self)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        samples = self._reported_length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return samples
        whole, rest = divmod(samples, self.batch_size)
        return whole + bool(rest and not self.drop_last)


_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
"""Attributes that follow from one another, so that none of them can be set alone."""


def check_workers(count: int, timeout: float, ahead: int | None, persistent: bool, context: Any) -> None:
    """``ValueError`` or ``TypeError`` for settings of workers that make no sense."""
    if count < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if count == 0 and ahead is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None"
        )
    if ahead is not None and ahead < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and count == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is not None:
        _check_context(count, context)


def _check_context(count: int, context: Any) -> None:
    if count == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            "num_workers=0"
        )
    known = multiprocessing.get_all_start_methods()
    if isinstance(context, str) and context not in known:
        raise ValueError(
            f"multiprocessing_context option should specify a valid start method in {known}, but got "
            f"multiprocessing_context={context!r}"
        )
    if not isinstance(context, (str, multiprocessing.context.BaseContext)):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )


def _refuse_order(**options: Any) -> None:
    """``ValueError`` for options that say in which order a data set is read that is its own order."""
    if options["shuffle"] or options["sampler"] is not None or options["batch_sampler"] is not None:
        what = "shuffle" if options["shuffle"] else "sampler" if options["sampler"] is not None else "batch_sampler"
        given = options["shuffle"] or options["sampler"] or options["batch_sampler"]
        raise ValueError(f"DataLoader with IterableDataset: expected unspecified {what} option, but got {what}={given}")


def _refuse_contradictions(
    batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """``ValueError`` for options of which each says what the other says as well."""
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def default_convert(data: Any) -> Any:
    """One sample alone: arrays and NumPy's numbers as tensors, in containers too; the rest as it is."""
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in "SUO" else FUNCTIONS["as_tensor"](data)
    if isinstance(data, Mapping):
        return type(data)({key: default_convert(value) for key, value in data.items()})  # type: ignore[call-arg]
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, (list, tuple)):
        return [default_convert(value) for value in data]
    return data
