"""Data-parallel training among threads that stand for ranks: means, order, refusals, time limits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.distributed import DataParallel, SingleProcess
from retrograd.distributed.communicator import Pending
from retrograd.distributed.data_parallel import plan
from retrograd.errors import ReductionTimeoutError, UnreadyParametersError


class Room:
    """What the threads share: the arrays of each reduction, by its number."""

    def __init__(self, world_size: int) -> None:
        self.world_size = world_size
        self.changed = threading.Condition()
        self.rounds: dict[int, list[np.ndarray]] = {}
        self.sizes: list[list[int]] = [[] for _ in range(world_size)]


class Reduction:
    """One reduction as one rank sees it."""

    def __init__(self, room: Room, number: int, array: np.ndarray) -> None:
        self.room, self.number, self.array = room, number, array
        self.abandoned = False
        self._applied = False
        with room.changed:
            room.rounds.setdefault(number, []).append(array.copy())

    def done(self) -> bool:
        with self.room.changed:
            arrays = self.room.rounds[self.number]
            if len(arrays) < self.room.world_size:
                return False
            if not self._applied:
                self.array[...] = sum(arrays)
                self._applied = True
        return True

    def abandon(self) -> None:
        self.abandoned = True


class ThreadRank:
    """A ``Communicator`` whose ranks are threads of this process."""

    def __init__(self, room: Room, rank: int) -> None:
        self.room, self.rank, self.world_size = room, rank, room.world_size
        self.sent: list[Reduction] = []

    def allreduce(self, array: np.ndarray) -> Reduction:
        self.room.sizes[self.rank].append(array.size)
        self.sent.append(Reduction(self.room, len(self.sent), array))
        return self.sent[-1]

    def broadcast(self, array: np.ndarray, root: int = 0) -> None:
        work = self.allreduce(array if self.rank == root else np.multiply(array, 0, out=array))
        while not work.done():
            time.sleep(1e-4)

    def gather(self, value: Any, root: int = 0) -> list[Any] | None:
        raise NotImplementedError

    def barrier(self) -> None:
        raise NotImplementedError


def in_ranks(count: int, work: Callable[[ThreadRank], Any]) -> list[Any]:
    """Run ``work`` on so many ranks at once; what each returned or raised."""
    room = Room(count)
    results: list[Any] = [None] * count

    def run(rank: int) -> None:
        try:
            results[rank] = work(ThreadRank(room, rank))
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    return [*results, room]


ROWS = np.arange(24, dtype=np.float32).reshape(8, 3)


def network() -> dict[str, Any]:
    """Parameters of two dtypes."""
    return {
        "w": rg.ones(3, 2, requires_grad=True),
        "b": rg.zeros(2, requires_grad=True),
        "scale": rg.ones(2, dtype=rg.float64, requires_grad=True),
    }


def loss_of(p: dict[str, Any], rows: np.ndarray) -> Any:
    """Mean over rows of something that uses every parameter."""
    return ((rg.tensor(rows) @ p["w"] + p["b"]).tanh() * p["scale"]).mean()


@pytest.mark.parametrize("bucket_bytes", [1, 20, 2**20])
def test_every_rank_gets_the_gradient_of_the_whole_batch(bucket_bytes: int) -> None:
    """The mean over ranks equals one process on all rows, whatever the size of the buckets."""
    whole = network()
    loss_of(whole, ROWS).backward()

    def work(ranks: ThreadRank) -> dict[str, np.ndarray]:
        p = network()
        DataParallel(p, ranks, bucket_bytes=bucket_bytes)
        loss_of(p, ROWS[ranks.rank :: 4]).backward()
        return {name: tensor.grad.numpy() for name, tensor in p.items()}

    *found, room = in_ranks(4, work)
    for gradients in found:
        for name, tensor in whole.items():
            np.testing.assert_allclose(gradients[name], tensor.grad.numpy(), rtol=1e-5, atol=1e-7)
    assert all(sizes == room.sizes[0] for sizes in room.sizes)  # one order on all ranks


def test_buckets_fill_from_the_last_parameter_up_to_the_limit() -> None:
    """Buckets hold one dtype, no more bytes than asked for, and begin at the end."""
    named = [(f"p{i}", rg.zeros(100, dtype=rg.float64 if i == 2 else rg.float32)) for i in range(6)]

    assert [bucket.names for bucket in plan(named, 800)] == [["p5", "p4"], ["p3", "p1"], ["p2"], ["p0"]]


def test_a_bucket_leaves_while_backward_still_runs() -> None:
    """The last layer's gradients are under way before the first layer's are computed."""
    p = {"first": rg.ones(4, requires_grad=True), "last": rg.ones(4, requires_grad=True)}
    sent: list[str] = []

    class Watched(SingleProcess):
        def allreduce(self, array: np.ndarray) -> Any:
            sent.append("reduction")
            return super().allreduce(array)

    DataParallel(p, Watched(), bucket_bytes=1)
    hidden = p["first"] * 2
    hidden.register_hook(lambda g: sent.append("first layer"))
    (hidden * p["last"]).sum().backward()

    assert sent == ["reduction", "first layer", "reduction"]


def test_values_of_rank_0_are_given_to_all() -> None:
    """Ranks that begin with other values train rank 0's."""

    def work(ranks: ThreadRank) -> list[float]:
        w = rg.full((3,), float(ranks.rank + 7)).requires_grad_()
        DataParallel([w], ranks)
        return w.tolist()

    assert in_ranks(3, work)[:3] == [[7.0] * 3] * 3


def test_a_parameter_used_on_some_ranks_is_named_on_all() -> None:
    """Every rank raises and says on how many ranks there was a gradient, and whether here."""

    def work(ranks: ThreadRank) -> Any:
        p = {name: rg.ones(2, requires_grad=True) for name in ("stem", "text", "image")}
        DataParallel(p, ranks)
        head = p["text"] if ranks.rank == 0 else p["image"]
        with pytest.raises(UnreadyParametersError) as caught:
            (p["stem"] * head).sum().backward()
        return str(caught.value)

    zero, one, _ = in_ranks(2, work)
    assert "image on 1 of 2 ranks (not on this one), text on 1 of 2 ranks (this one too)" in zero
    assert "image on 1 of 2 ranks (this one too), text on 1 of 2 ranks (not on this one)" in one
    assert "stem" not in zero
    assert "unused='zero'" in zero


def test_unused_may_count_as_zero() -> None:
    """With ``unused="zero"`` a rank without gradient adds nothing; one that nobody used keeps None."""

    def work(ranks: ThreadRank) -> Any:
        p = {name: rg.ones(2, requires_grad=True) for name in ("a", "b", "nobody")}
        DataParallel(p, ranks, unused="zero")
        (p["a"] if ranks.rank == 0 else p["a"] + p["b"]).sum().backward()
        return {name: None if tensor.grad is None else tensor.grad.tolist() for name, tensor in p.items()}

    assert in_ranks(2, work)[:2] == [{"a": [1.0, 1.0], "b": [0.5, 0.5], "nobody": None}] * 2


def test_a_rank_that_never_comes_is_waited_for_only_so_long() -> None:
    """The others say what they waited for, and the rank that raised keeps its own error."""

    def work(ranks: ThreadRank) -> Any:
        p = {"w": rg.ones(2, requires_grad=True)}
        DataParallel(p, ranks, time_limit=0.2)
        if ranks.rank == 1:
            raise KeyError("lost")
        begin = time.monotonic()
        with pytest.raises(ReductionTimeoutError, match=r"Rank 0 waited 0.2 s for .* gradients of w"):
            p["w"].sum().backward()
        assert ranks.sent[-1].abandoned
        return time.monotonic() - begin

    seconds, lost, _ = in_ranks(2, work)
    assert seconds < 30
    assert isinstance(lost, KeyError)


def test_runs_inside_no_sync_are_reduced_by_the_next_one() -> None:
    """Accumulation over two runs sends once and gives the mean of the sums."""

    def work(ranks: ThreadRank) -> Any:
        w = rg.ones(2, requires_grad=True)
        parallel = DataParallel({"w": w}, ranks, broadcast=False)
        with parallel.no_sync():
            (w * (ranks.rank + 1)).sum().backward()
        before = len(ranks.sent)
        (w * 10).sum().backward()
        return before, len(ranks.sent), w.grad.tolist()

    assert in_ranks(2, work)[:2] == [(0, 1, [11.5, 11.5])] * 2


def test_after_an_error_the_next_run_is_whole_again() -> None:
    """A refused run leaves nothing behind."""
    p = {"a": rg.ones(2, requires_grad=True), "b": rg.ones(2, requires_grad=True)}
    DataParallel(p, SingleProcess())
    with pytest.raises(UnreadyParametersError):
        p["a"].sum().backward()
    p["a"].grad = None

    (p["a"] * p["b"]).sum().backward()

    assert p["a"].grad.tolist() == p["b"].grad.tolist() == [1.0, 1.0]


def test_removed_hooks_are_gone() -> None:
    """After ``remove()`` backward is the process's own again."""
    reductions = []

    class Counted(SingleProcess):
        def allreduce(self, array: np.ndarray) -> Pending:
            reductions.append(array)
            return super().allreduce(array)

    w = rg.ones(2, requires_grad=True)
    parallel = DataParallel([w], Counted())
    w.sum().backward()
    parallel.remove()
    w.sum().backward()

    assert len(reductions) == 1
    assert w.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("parameters", "phrase"),
    [
        ([], "got no parameters"),
        ({"h": lambda: rg.ones(2, requires_grad=True) * 2}, "h is not a leaf"),
        ({"c": lambda: rg.ones(2)}, "c is not a leaf"),
    ],
)
def test_what_cannot_be_reduced_is_refused(parameters: Any, phrase: str) -> None:
    """Nothing, intermediates and constants are refused with their name."""
    given = {name: make() for name, make in parameters.items()} if isinstance(parameters, dict) else parameters

    with pytest.raises(ValueError, match=phrase):
        DataParallel(given, SingleProcess())


def test_modules_give_their_parameters() -> None:
    """A module may be given as it is, and a wrong option is one sentence."""
    layer = rg.nn.Linear(2, 1)
    DataParallel(layer, SingleProcess())

    layer(rg.ones(1, 2)).sum().backward()

    assert layer.weight.grad.tolist() == [[1.0, 1.0]]
    with pytest.raises(ValueError, match="'error' or 'zero'"):
        DataParallel(layer, SingleProcess(), unused="ignore")
