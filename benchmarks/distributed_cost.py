"""What reducing gradients during backward costs, beside one allreduce per bucket after it.

    mpirun -n 2 --oversubscribe python benchmarks/distributed_cost.py [--width 512] [--steps 200]

Both reduce the same buckets over the same communicator, in turns in one run; medians of the time of backward and
reduction together, on rank 0.  Bar: hooks at most 1.1 times the other.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import retrograd as rg
from retrograd.distributed import DataParallel, connect
from retrograd.distributed.communicator import wait_until
from retrograd.distributed.data_parallel import plan

BUCKET_BYTES = 2**20


def network(width: int, depth: int = 6) -> dict[str, Any]:
    """Square weight matrices."""
    rg.manual_seed(0)
    return {f"w{i}": (rg.randn(width, width) / width**0.5).requires_grad_() for i in range(depth)}


def forward(parameters: dict[str, Any], rows: Any) -> Any:
    """A plain multilayer net."""
    for weight in parameters.values():
        rows = (rows @ weight).relu()
    return (rows * rows).mean()


def after_backward(parameters: dict[str, Any], communicator: Any) -> Callable[[Any], None]:
    """Backward, then one reduction for each bucket, all begun before the first is waited for."""
    names = {id(tensor): (name, tensor) for name, tensor in parameters.items()}
    buckets = plan(names.values(), BUCKET_BYTES)

    def step(loss: Any) -> None:
        loss.backward()
        for bucket in buckets:
            for place, name in enumerate(bucket.names):
                bucket.put(place, parameters[name].grad.numpy())
            bucket.launch(communicator)
        for bucket in buckets:
            wait_until(bucket.pending.done, None)
            bucket.spread(communicator.world_size)
            bucket.clear()

    return step


def _middle(times: list[float]) -> float:
    """The mean of the medians of the turns in which a contender came first and of those in which it came second."""
    return (statistics.median(times[::2]) + statistics.median(times[1::2])) / 2


def main() -> int:
    """Measure both in turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    communicator = connect()
    hooked, plain = network(options.width), network(options.width)
    DataParallel(hooked, communicator, bucket_bytes=BUCKET_BYTES)
    contenders = {
        "after backward": (plain, after_backward(plain, communicator)),
        "hooks": (hooked, lambda loss: loss.backward()),
    }
    rows = rg.randn(32, options.width)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for turn in range(options.steps + 4):
        # Whoever comes second gets memory that the first has handed back to the system, and 144 page faults with it.
        order.reverse()
        for name in order:
            parameters, step = contenders[name]
            for tensor in parameters.values():
                tensor.grad = None
            loss = forward(parameters, rows)
            communicator.barrier()
            begin = time.perf_counter()
            step(loss)
            if turn >= 4:
                times[name].append(time.perf_counter() - begin)
    if communicator.rank == 0:
        medians = {name: _middle(values) * 1e3 for name, values in times.items()}
        print(", ".join(f"{name} {value:.2f} ms" for name, value in medians.items()))
        print(f"hooks / after backward: {medians['hooks'] / medians['after backward']:.2f}   (bar 1.1)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
