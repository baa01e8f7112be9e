"""The order in which samples are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ...engine.core.dtypes import int64
from ...engine.devices.process_group import joined
from ...engine.methods import FUNCTIONS
from ...engine.random import Generator

T_co = TypeVar("T_co", covariant=True)
_AT_ONCE = 32
"""Draws with replacement are made so many at a time, as PyTorch makes them."""


def drawn_seed(generator: Any = None) -> int:
    """A seed for another generator."""
    return int(FUNCTIONS["empty"]((), dtype=int64).random_(generator=generator))


class Sampler(Generic[T_co]):
    """Base of orders: write ``__iter__``, and ``__len__`` if it is known."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


def _check_count(number: Any) -> None:
    """``ValueError`` for a number of samples that is none."""
    if not isinstance(number, int) or isinstance(number, bool) or number <= 0:
        raise ValueError(f"num_samples should be a positive integer value, but got num_samples={number}")


class SequentialSampler(Sampler[Any]):
    """From the first to the last."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[Any]):
    """At random, each once or with replacement."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self.num_samples = len(data_source) if num_samples is None else num_samples
        if num_samples is not None:
            _check_count(num_samples)

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        generator = Generator().manual_seed(drawn_seed()) if self.generator is None else self.generator
        if self.replacement:
            whole, rest = divmod(self.num_samples, _AT_ONCE)
            for size in (*(_AT_ONCE,) * whole, rest):
                yield from FUNCTIONS["randint"](0, count, (size,), generator=generator).tolist()
        elif count:
            whole, rest = divmod(self.num_samples, count)
            for size in (*(count,) * whole, rest):
                yield from FUNCTIONS["randperm"](count, generator=generator).tolist()[:size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[Any]):
    """Chosen numbers at random."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for i in FUNCTIONS["randperm"](len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[Any]):
    """Numbers drawn with given weights."""

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        _check_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = FUNCTIONS["as_tensor"](weights).double()
        if self.weights.dim() != 1:
            shape = tuple(self.weights.shape)
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {shape}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = FUNCTIONS["multinomial"](self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[Any]):
    """Lists of numbers that another order gives."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return whole + bool(rest and not self.drop_last)


class DistributedSampler(Sampler[Any]):
    """The share of one of several processes: every ``num_replicas``-th sample, in an order that each epoch has anew."""

    __module__ = "retrograd.utils.data.distributed"

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
        seed: int = 0, drop_last: bool = False,
    ) -> None:  # fmt: skip
        if num_replicas is None or rank is None:
            job = joined()
            num_replicas = job.size() if num_replicas is None else num_replicas
            rank = job.rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        whole = len(dataset) - len(dataset) % num_replicas if drop_last else len(dataset)
        self.num_samples = -(-whole // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = FUNCTIONS["randperm"](count, generator=generator).tolist()
        order = (order * -(-self.total_size // max(count, 1)))[: self.total_size]  # the first ones again, if need be
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
        self.epoch = epoch
