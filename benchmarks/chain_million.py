"""A chain of 1,000,000 operations on our own engine: built, walked, run backward, differentiated twice, and freed.

    python benchmarks/chain_million.py [--length 1000000]

Says the time of each step, a fresh NumPy loop over the same operations as the yardstick, and the peak memory.
The steps are measured with the garbage collector on; freeing is done by dropping the last tensor, which must neither
recurse over the depth nor wait for the collector.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import retrograd as rg


def timed(label: str, length: int, work: Callable[[], Any]) -> tuple[Any, float]:
    """Run one step, print its time, give back its result and its CPU seconds."""
    start = time.process_time()
    result = work()
    seconds = time.process_time() - start
    print(f"{label:12} {seconds:8.2f} s   {seconds / length * 1e6:6.2f} µs an operation", flush=True)
    return result, seconds


def numpy_chain(length: int) -> Any:
    """The same arithmetic without any record: the floor."""
    state = np.float32([1.0, -1.0])
    factor = np.float32(0.999999)
    for _ in range(length):
        state = state * factor
    return state


def build(leaf: Any, length: int) -> Any:
    """A chain of multiplications that ends in one number."""
    state = leaf
    for _ in range(length - 1):
        state = state * 0.999999
    return state.sum()


def peak_megabytes() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def twice(length: int) -> None:
    """Second derivative of ``f ** length`` at a depth of ``length``, and both graphs let go with the usual stack."""
    factor = rg.tensor(0.999999, dtype=rg.float64, requires_grad=True)
    state = factor
    for _ in range(length - 1):
        state = state * factor
    last = [state]
    del state
    (gradient,), _ = timed("create_graph", length, lambda: rg.autograd.grad(last[0], factor, create_graph=True))
    last.append(gradient)
    del gradient
    timed("second order", length, lambda: last[1].backward())
    expected = length * (length - 1) * 0.999999 ** (length - 2)
    np.testing.assert_allclose(factor.grad.numpy(), expected, rtol=1e-6)
    watched = [weakref.ref(tensor.grad_fn) for tensor in last]
    gc.disable()
    timed("free both", length, last.clear)
    gc.enable()
    assert [ref() for ref in watched] == [None, None], "a graph was not freed when its last tensor went"


def run(length: int) -> None:
    """All steps one after the other, each checked."""
    base = peak_megabytes()
    _, floor = timed("numpy loop", length, lambda: numpy_chain(length))

    leaf = rg.tensor([1.0, -1.0], requires_grad=True)
    last: list[Any] = []  # the only thing that holds the graph
    _, built = timed("build", length, lambda: last.append(build(leaf, length)))
    after_build = peak_megabytes()
    nodes, walked = timed("walk", length, lambda: len(rg.walk(last[0])))
    assert nodes >= length, f"{nodes} nodes seen of {length}"
    _, ran = timed("backward", length, lambda: last[0].backward())
    factor = float(np.float32(0.999999))
    np.testing.assert_allclose(leaf.grad.numpy(), factor ** (length - 1), rtol=1e-2)  # a million float32 roundings

    watched = weakref.ref(last[0].grad_fn)
    gc.disable()
    _, freed = timed("free", length, last.clear)
    gc.enable()
    assert watched() is None, "the graph was not freed when its last tensor went"

    twice(length)
    print(f"build / numpy loop {built / floor:.2f}   backward / build {ran / built:.2f}", end="   ")
    print(f"walk / build {walked / built:.2f}   free / build {freed / built:.2f}")
    print(f"peak memory: {base:.0f} MB at the start, {after_build:.0f} MB built, {peak_megabytes():.0f} MB in all")


def main() -> int:
    """Read the length and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=1_000_000)
    run(parser.parse_args().length)
    return 0


if __name__ == "__main__":
    sys.exit(main())
