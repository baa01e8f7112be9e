"""The same random program on both engines leaves the same values, gradients, nodes, versions, hook calls and errors.

A long run: ``python tests/test_random_programs.py 20000`` prints every mismatch it finds.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import NAMES, Instruction, Machine

import retrograd

small = st.integers(0, 11)
programs = st.lists(st.tuples(st.sampled_from(NAMES), small, small, small), min_size=2, max_size=14)


def same(a: Any, b: Any) -> bool:
    """Equal up to rounding; torch's tuples and ours may differ in type."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= 1e-6 * max(1.0, abs(a)) or (a != a and b != b)
    return bool(a == b)


def first_difference(torch: Any, program: list[Instruction]) -> str | None:
    """Where the two engines part, or ``None``."""
    wanted, found = Machine(torch).run(program), Machine(retrograd).run(program)
    if any(isinstance(entry, tuple) and "INTERNAL ASSERT" in entry for entry in wanted):
        return None  # torch itself broke down; there is nothing to agree with
    for step, (a, b) in enumerate(zip(wanted, found, strict=False)):
        if not same(a, b):
            return f"step {step}:\n  torch     {a}\n  retrograd {b}"
    return None if len(wanted) == len(found) else f"{len(wanted)} steps against {len(found)}"


@settings(max_examples=300)
@given(programs)
def test_random_programs_agree(program: list[Instruction]) -> None:
    """Short profile of the long run: hypothesis shrinks any mismatch to a few instructions."""
    torch = pytest.importorskip("torch")

    difference = first_difference(torch, program)

    assert difference is None, f"{program}\n{difference}"


FOUND = {
    "copy-node-name": [("copy_", 5, 9, 1)],
    "no-grad-view-of-leaf-records": [("no_grad_slice", 1, 11, 3), ("backward", 3, 8, 4)],
    "view-of-no-grad-view": [("no_grad_unbind", 9, 6, 0), ("transpose", 8, 1, 5)],
    "in-place-shape-node": [("exp", 4, 3, 5), ("unsqueeze_", 3, 1, 0)],
    "stale-view-grad-is-silent": [("Same", 6, 8, 2), ("no_grad_add_", 3, 0, 5)],
    "fill-node": [("Both", 3, 3, 1), ("fill_", 4, 5, 1)],
    "unreachable-view-as-input": [("transpose", 0, 4, 0), ("no_grad_unbind", 9, 6, 0), ("index", 8, 9, 2), ("grad",
        8, 5, 4)],
    "dirty-view-of-leaf": [("select", 6, 1, 4), ("Dirty", 3, 5, 3)],
    "base-detached-under-view": [("data", 4, 8, 3), ("reshape", 9, 11, 3), ("squeeze", 0, 11, 4), ("detach_", 7, 3,
        3), ("mul_", 4, 2, 5)],
    "base-without-history": [("expand", 3, 8, 0), ("Same", 9, 2, 1), ("unrequire", 0, 6, 5), ("detach", 4, 5, 4),
        ("no_grad_add_", 6, 11, 1)],
    "unbind-scalar": [("sum", 1, 2, 1), ("unbind", 11, 11, 1)],
    "chunk-scalar": [("sum", 11, 9, 1), ("chunk", 3, 10, 2)],
    "one-chunk": [("index", 0, 11, 2), ("neg", 2, 3, 2), ("exp", 9, 5, 4), ("chunk", 3, 4, 0), ("grad", 6, 3, 4)],
    "requires-grad-of-stale-view": [("no_grad_unbind", 7, 0, 3), ("Dirty", 4, 4, 0), ("requires", 3, 9, 4)],
    "setitem-expands": [("sin", 0, 9, 0), ("mul", 3, 0, 4), ("stack", 0, 9, 3), ("expand", 11, 11, 4), ("setitem",
        6, 8, 3)],
    "zero-expanded": [("sum", 4, 0, 1), ("expand", 9, 5, 5), ("scale", 11, 3, 1), ("expand", 9, 3, 5), ("zero_", 6,
        10, 4)],
    "edges-before-arguments": [("unbind", 0, 10, 4), ("no_grad_mul_t", 4, 9, 0), ("diagonal", 4, 4, 5)],
    "relu-second-order": [("relu", 9, 4, 3), ("stack", 7, 5, 1), ("grad", 4, 10, 3)],
    "clone-of-expanded": [("expand", 3, 6, 1), ("relu", 8, 3, 4), ("clone", 8, 6, 5), ("reshape", 11, 9, 3)],
    "times-itself-in-place": [("Triple", 9, 3, 4), ("add", 8, 5, 3), ("mul_t", 9, 9, 5), ("backward", 4, 0, 2)],
    "slice-of-stale-0-dim-view": [("mean0", 0, 11, 5), ("detach_", 0, 2, 2), ("no_grad_unbind", 3, 0, 5),
        ("no_grad_add_", 11, 2, 0), ("slice", 5, 0, 4), ("post_accumulate", 1, 5, 0), ("no_grad_mul", 11, 2, 1),
        ("Triple", 11, 6, 0), ("Triple", 5, 11, 5)],
    "fill-cuts-second-order": [("scale", 9, 9, 2), ("fill_", 7, 3, 4), ("Both", 7, 0, 2), ("Dirty", 9, 11, 4),
        ("mean0", 4, 9, 0), ("grad", 5, 8, 5)],
    "sum-down-node": [("stack", 0, 10, 1), ("sin", 11, 10, 2), ("grad", 11, 1, 1)],
}  # fmt: skip
"""Every mismatch a long run ever found, shrunk."""


@pytest.mark.parametrize("name", FOUND)
def test_found_mismatch_stays_fixed(name: str) -> None:
    """A program on which the engines once differed."""
    torch = pytest.importorskip("torch")

    assert first_difference(torch, FOUND[name]) is None


def long_run(count: int, start: int = 0) -> int:
    """Run ``count`` seeded programs and print the mismatches; returns how many there were."""
    import torch

    mismatches = 0
    for seed in range(start, start + count):
        r = random.Random(seed)
        program = [
            (r.choice(NAMES), r.randrange(12), r.randrange(12), r.randrange(6)) for _ in range(r.randrange(3, 16))
        ]
        difference = first_difference(torch, program)
        if difference is not None:
            mismatches += 1
            print(seed, program, difference, sep="\n")
    return mismatches


if __name__ == "__main__":
    print(long_run(*map(int, sys.argv[1:])), "mismatches")
