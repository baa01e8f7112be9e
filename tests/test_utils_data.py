"""Data sets and loaders, held against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both_engines import assert_agree, differential, raises


@differential
def test_batches(torch: Any) -> Any:
    """Batches in order, the rest kept or dropped, own collation, one by one, lists of numbers given."""
    data = torch.utils.data
    rows = data.TensorDataset(torch.arange(10.0).reshape(5, 2), torch.arange(5))
    loader = data.DataLoader
    made = [
        loader(rows, 2), loader(rows, batch_size=2, drop_last=True), loader(rows, batch_size=None),
        loader(rows, 3, collate_fn=len), loader(rows, batch_sampler=[[4, 0], [1]]), loader(rows, 2, sampler=[3, 3, 1]),
    ]  # fmt: skip
    return [[list(each) for each in made], [len(each) for each in made], next(iter(made[0]))[1].dtype]


@differential
def test_shuffled(torch: Any) -> Any:
    """Random orders contain what they should; a generator repeats them."""
    data = torch.utils.data
    numbers = list(range(20))
    seen = sorted(int(x) for batch in data.DataLoader(numbers, 3, shuffle=True) for x in batch)
    again = [
        [b.tolist() for b in data.DataLoader(numbers, 4, shuffle=True, generator=torch.Generator().manual_seed(3))]
        for _ in range(2)
    ]
    parts = data.random_split(numbers, [0.5, 0.3, 0.2])
    weighted = list(data.WeightedRandomSampler([0.0, 1.0], 5))
    drawn = list(data.RandomSampler(numbers, replacement=True, num_samples=7))
    return [
        seen, again[0] == again[1], [len(p) for p in parts], sorted(x for p in parts for x in p), weighted, len(drawn),
        sorted(data.SubsetRandomSampler([4, 9])), len(data.RandomSampler(numbers, num_samples=50)),
    ]  # fmt: skip


@differential
def test_kinds_of_samples(torch: Any) -> Any:
    """Dictionaries, tuples, numbers, text and arrays put together."""
    collate = torch.utils.data.default_collate
    return [
        collate([{"a": 1, "b": torch.ones(2)}, {"a": 2, "b": torch.zeros(2)}]), collate([(1.5, "x"), (2.5, "y")]),
        collate([np.ones(2), np.zeros(2)]), collate([True, False]), raises("must contain tensors", collate, [object()]),
        raises("equal size", collate, [[1], [1, 2]]),
    ]  # fmt: skip


@differential
def test_composed_and_streamed(torch: Any) -> Any:
    """Data sets of data sets, streams, and what cannot be asked of them."""
    data = torch.utils.data

    class Stream(data.IterableDataset):
        def __iter__(self) -> Any:
            return iter(range(5))

    class Squares(data.Dataset):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, i: int) -> int:
            return i * i

    joined = Squares() + data.Subset(Squares(), [2, 0])
    rows = data.TensorDataset
    return [
        [joined[i] for i in range(len(joined))], joined[-1], list(data.DataLoader(Stream(), 2)),
        list(data.DataLoader(Stream(), 2, drop_last=True)), list(Stream() + Stream()), list(data.DataLoader(joined, 4)),
        raises("Size mismatch", rows, torch.ones(2), torch.ones(3)),
        raises("shuffle", data.DataLoader, Stream(), shuffle=True),
        raises("mutually exclusive", data.DataLoader, joined, sampler=[1], shuffle=True),
        raises("positive integer", data.DataLoader, joined, batch_size=0),
        raises("Sum of input", data.random_split, joined, [2]),
        raises("non-negative", data.DataLoader, joined, num_workers=-1),
    ]  # fmt: skip


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_share_of_a_process(drop_last: bool, shuffle: bool) -> None:
    """Every sample goes to one process; short ends are filled from the beginning, or left out; epochs differ."""

    def program(engine: Any) -> Any:
        shares: list[Any] = []
        for rank in range(3):
            sampler = engine.utils.data.DistributedSampler(range(10), 3, rank, shuffle, seed=5, drop_last=drop_last)
            shares += [list(sampler), len(sampler)]
            sampler.set_epoch(2)
            shares.append(list(sampler))
        return [*shares, list(engine.utils.data.DistributedSampler(range(2), 5, 4, shuffle=False))]

    assert_agree(program)
