"""One pass over a loader's data: in the program itself, or by workers in turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import cycle, repeat
from typing import Any

from ...engine.warning import warn
from .dataset import IterableDataset
from .sampler import drawn_seed
from .workers import Exhausted, Worker


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
        told = self._loader._length_told
        if told is not None and self._count > told:
            warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {told}(when accessing "
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
