"""Workers of a ``DataLoader``, held against PyTorch's: seeds, copies of streams, errors, settings."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from both_engines import differential, raises


@pytest.fixture(autouse=True)
def _streams_as_before() -> Any:
    """Python's and NumPy's random numbers go on after a test as if it had not been."""
    states = random.getstate(), np.random.get_state()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])


@differential
def test_random_numbers_of_workers(torch: Any) -> Any:
    """Each worker draws from streams of its own, seeded as PyTorch's are; the program's streams do not notice."""
    data = torch.utils.data

    class Noisy(data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 5

        def __getitem__(self, i: int) -> Any:
            drawn = [float(i), torch.rand(1).item(), random.random(), float(np.random.rand())]
            return torch.tensor(drawn, dtype=torch.float64)

    torch.manual_seed(3)
    random.seed(1)
    np.random.seed(2)
    seen: list[Any] = []
    for persistent in (False, True):
        loader = data.DataLoader(Noisy(), 2, shuffle=True, num_workers=2, persistent_workers=persistent)
        for _ in range(2):
            seen += [*loader, torch.rand(2), random.random(), float(np.random.rand())]
    return seen


@differential
def test_streams_of_workers(torch: Any) -> Any:
    """Each worker reads its own copy of a stream, or the part that it finds for its number, until that has ended."""
    data = torch.utils.data

    class Whole(data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Any:
            return iter(range(4))

    class Counting(data.IterableDataset):  # type: ignore[misc, name-defined]
        reached = 0

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> int:
            worker = data.get_worker_info()
            self.reached += 1
            if self.reached > 3 + worker.id:
                raise StopIteration
            return 10 * self.reached + int(worker.id)

    def prepare(number: int) -> None:
        data.get_worker_info().dataset.reached = number * 2

    kept = data.DataLoader(
        Counting(), 2, num_workers=2, worker_init_fn=prepare, drop_last=True, persistent_workers=True
    )
    return (
        list(data.DataLoader(Whole(), 2, num_workers=2)),
        list(data.DataLoader(Whole(), None, num_workers=2)),
        list(data.DataLoader(Counting(), 2, num_workers=2)),
        [list(kept), list(kept)],
        data.get_worker_info(),
    )


class Own(Exception):
    """An error that no message alone makes; at the head of a file, so that it can be sent by a process."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


@differential
def test_errors_of_workers(torch: Any) -> Any:
    """An error keeps its type, says which worker it comes from, and lets the loader go on."""
    data = torch.utils.data

    class Broken(data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> int:
            if i == 1:
                raise KeyError("broken")
            if i == 2:
                raise Own(1, 2)
            return i

    batches = iter(data.DataLoader(Broken(), num_workers=1))
    seen: list[Any] = [next(batches)]
    for _ in range(2):
        with pytest.raises(Exception, match="in DataLoader worker process 0") as caught:
            next(batches)
        lines = str(caught.value).strip().split("\n")
        seen.append((type(caught.value).__name__, lines[0], lines[1]))
    return seen, next(batches), len(batches)


@differential
def test_settings_of_loaders(torch: Any) -> Any:
    """What makes no sense is refused; what follows from other settings cannot be set later; lengths are compared."""
    data = torch.utils.data
    loader, numbers = data.DataLoader, [1, 2, 3]
    refused = [
        raises("timeout", loader, numbers, timeout=-1), raises("prefetch_factor", loader, numbers, prefetch_factor=2),
        raises("persistent_workers", loader, numbers, persistent_workers=True),
        raises("prefetch_factor", loader, numbers, num_workers=1, prefetch_factor=-1),
        raises("valid start method", loader, numbers, num_workers=1, multiprocessing_context="nope"),
        raises("valid context object", loader, numbers, num_workers=1, multiprocessing_context=3),
        raises("num_workers=0", loader, numbers, multiprocessing_context="fork"),
        raises("positive integer", data.WeightedRandomSampler, [1.0], 0),
        raises("positive integer", data.RandomSampler, numbers, num_samples=0),
        raises("replacement", data.WeightedRandomSampler, [1.0], 1, "yes"),
        raises("1d sequence", data.WeightedRandomSampler, [[1.0]], 1),
    ]  # fmt: skip
    made = loader(numbers, num_workers=2)
    names = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
    fixed = [raises("should not be set after DataLoader", setattr, made, name, 3) for name in names]
    made.num_workers = 0
    return refused, fixed, made.prefetch_factor, loader(numbers).prefetch_factor, list(made), made.timeout


@differential
def test_whole_batches_and_texts(torch: Any) -> Any:
    """``__getitems__`` is asked for a batch at once; texts stay in the sequence that they come in."""
    data = torch.utils.data

    class AtOnce(data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return 3

        def __getitems__(self, indices: list[int]) -> list[int]:
            return [-i for i in indices]

    collate = data.default_collate
    texts = (
        collate([("a", 1), ("b", 2)]),
        collate([["a"], ["b"]]),
        collate([{"k": "x"}, {"k": "y"}]),
        collate(("a", "b")),
    )
    return list(data.DataLoader(AtOnce(), 2)), [repr(each) for each in texts]
