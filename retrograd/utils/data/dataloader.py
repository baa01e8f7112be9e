"""``DataLoader``: batches of a data set's samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...engine.table.methods import FUNCTIONS
from ...engine.tensors.tensor import Tensor
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as one: tensors stacked, numbers as tensors, containers element by element, text in a list."""
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
        return list(batch)
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

    Samples are read in this process, whatever ``num_workers`` says; ``pin_memory`` and the like have no effect.
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
        batch_sampler: Any = None, num_workers: int = 0, collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None,
        multiprocessing_context: Any = None, generator: Any = None, **options: Any,
    ) -> None:  # fmt: skip
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        streamed = isinstance(dataset, IterableDataset)
        if streamed:
            _refuse_order(shuffle=shuffle, sampler=sampler, batch_sampler=batch_sampler)
        _refuse_contradictions(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.dataset, self.num_workers, self.drop_last = dataset, num_workers, drop_last
        self.batch_size = None if batch_sampler is not None else batch_size
        self.generator, self.pin_memory = generator, pin_memory
        if sampler is None and not streamed:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None and not streamed:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_collate if batch_size is not None else default_convert)

    def __iter__(self) -> Iterator[Any]:
        drawn_seed(self.generator)  # PyTorch draws one for its workers, even where there are none
        return self._batches()

    def _batches(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            for samples in _grouped(self.dataset, self.batch_size, self.drop_last):  # type: ignore[arg-type]
                yield self.collate_fn(samples)
        elif self.batch_sampler is None:
            for index in self.sampler:
                yield self.collate_fn(self.dataset[index])
        else:
            for indices in self.batch_sampler:
                yield self.collate_fn([self.dataset[index] for index in indices])

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        if self.batch_size is None:
            return len(self.dataset)  # type: ignore[arg-type]
        whole, rest = divmod(len(self.dataset), self.batch_size)  # type: ignore[arg-type]
        return whole + bool(rest and not self.drop_last)


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


def get_worker_info() -> None:
    """None: samples are always read in the program's own process."""
    return


def _grouped(samples: Iterable[Any], size: int | None, drop_last: bool) -> Iterator[Any]:
    if size is None:
        yield from samples
        return
    group: list[Any] = []
    for sample in samples:
        group.append(sample)
        if len(group) == size:
            yield group
            group = []
    if group and not drop_last:
        yield group
