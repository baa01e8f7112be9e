"""How fast the engine is: whole training steps and chains of small operations, against hand-written NumPy and others.

Each contender is a process of its own.  The driver visits them in turn (A B C A B C ...); a visit repeats a step for a
few hundredths of a second and reports the median CPU time, so that other programs on the machine cost noise but no
ratio.  Shown: CPU time of a step, and the median over the rounds of its ratio to ``numpy`` in the same round.

    python benchmarks/engine_speed.py                         # all workloads, all contenders that are installed
    python benchmarks/engine_speed.py --only W1,W7 --with numpy,retrograd,torch --rounds 9
    python benchmarks/engine_speed.py --check                 # gradients in float64 against the hand-written ones
    python benchmarks/engine_speed.py --growth                # W1 and W7 up to 1,000,000 operations
    python benchmarks/engine_speed.py --memory                # W10: peak memory of a step
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CONTENDERS = {"numpy": "numpy", "retrograd": "retrograd", "torch": "torch", "hips": "autograd", "mygrad": "mygrad",
              "jax": "jax", "jax_jit": "jax"}  # fmt: skip
"""Contender -> the module it needs."""
PINNED = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# glibc gives freed arrays back to the system and fetches them again: large steps get up to 1.6 times slower, at random
PINNED |= {"MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_MMAP_THRESHOLD_": "4000000000", "JAX_PLATFORMS": "cpu",
           "JAX_ENABLE_X64": "1"}  # fmt: skip


# -- the process of one contender


def program(contender: str, name: str, precision: str) -> Any:
    """One step of a workload; ``KeyError`` where the contender has none."""
    from engine_workloads import by_hand, data

    values = data.data(name, precision)
    if contender == "numpy":
        return by_hand.make(name, values)
    if contender in ("retrograd", "torch"):
        from engine_workloads.torch_like import Programs

        return Programs(contender).make(name, values)
    if contender == "mygrad":
        from engine_workloads import mygrad_

        return mygrad_.Programs().make(name, values)
    from engine_workloads import transformed

    engine = "autograd" if contender == "hips" else "jax"
    return transformed.Programs(engine, compiled=contender == "jax_jit").make(name, values)


def timed(step: Any) -> tuple[float, float]:
    """CPU seconds of a step, and of its first half."""
    half = [0.0]

    def halfway() -> None:
        half[0] = time.process_time()

    start = time.process_time()
    step(halfway)
    end = time.process_time()
    return end - start, (half[0] or start) - start


def serve(contender: str) -> None:
    """Answer the driver: ``{"do": "load" | "visit" | "check", ...}`` a line."""
    step = None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if asked["do"] == "load":
                step = program(contender, asked["name"], "f4")
                answer: Any = [timed(step) for _ in range(2)][-1][0]
            elif asked["do"] == "check":
                answer = [g.tolist() for g in program(contender, asked["name"], "f8")(lambda: None)]
            else:
                times = [timed(step) for _ in range(asked["times"])]
                answer = [statistics.median(column) for column in zip(*times, strict=True)]
        except KeyError:
            answer = None
        print(json.dumps(answer), flush=True)


class Contender:
    """The driver's end of a contender's process."""

    def __init__(self, name: str) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), "--serve", name]
        path = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {**os.environ, **PINNED, "PYTHONPATH": path}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def ask(self, **question: Any) -> Any:
        """The answer to one question."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline() or "null")

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


# -- the driver


def installed(wanted: str) -> list[str]:
    """Those of the contenders that can be imported."""
    return [name for name in wanted.split(",") if importlib.util.find_spec(CONTENDERS[name]) is not None]


def compare(names: list[str], workloads: list[str], rounds: int, seconds: float) -> None:
    """Time the contenders by turns and print a table per workload."""
    for workload in workloads:
        running = {name: Contender(name) for name in names}
        first = {name: running[name].ask(do="load", name=workload) for name in names}
        able = [name for name in names if first[name] is not None]
        found: dict[str, list[list[float]]] = {name: [] for name in able}
        for _ in range(rounds):
            for name in able:
                times = max(1, min(200, int(seconds / max(first[name], 1e-6))))
                found[name].append(running[name].ask(do="visit", times=times))
        for contender in running.values():
            contender.close()
        print_table(workload, found)


def print_table(workload: str, found: dict[str, list[list[float]]]) -> None:
    """CPU time and ratio of each contender; for W1 also what an operation costs beyond NumPy."""
    from engine_workloads.data import NAMES, W1_OPERATIONS

    print(f"\n{workload}  {NAMES[workload]}")
    hand = found.get("numpy")
    for name, rows in found.items():
        total, half = (statistics.median(column) for column in zip(*rows, strict=True))
        line = f"  {name:10s} {total * 1e3:10.3f} ms"
        if hand is not None:
            line += f"   x {statistics.median(a[0] / b[0] for a, b in zip(rows, hand, strict=True)):6.2f}"
        if workload == "W1" and hand is not None and name != "numpy" and half:
            record = statistics.median(a[1] - b[1] for a, b in zip(rows, hand, strict=True))
            whole = statistics.median(a[0] - b[0] for a, b in zip(rows, hand, strict=True))
            micro = 1e6 / W1_OPERATIONS
            line += (
                f"   overhead per operation: record {record * micro:.2f} µs, backward {(whole - record) * micro:.2f} µs"
            )
        print(line, flush=True)


def check(names: list[str], workloads: list[str]) -> None:
    """Compare gradients in float64 with the hand-written ones."""
    import numpy as np

    for workload in workloads:
        answers = {}
        for name in names:
            contender = Contender(name)
            answers[name] = contender.ask(do="check", name=workload)
            contender.close()
        wanted = [np.asarray(g) for g in answers.pop("numpy")]
        for name, grads in answers.items():
            if grads is None:
                print(f"{workload} {name}: not written")
                continue
            pairs = zip(map(np.asarray, grads), wanted, strict=True)
            worst = max(float(np.abs(a - b).max() / (np.abs(b).max() + 1e-30)) for a, b in pairs)
            print(f"{workload} {name}: largest difference {worst:.1e}{'' if worst < 1e-5 else '  WRONG'}", flush=True)


def growth(names: list[str]) -> None:
    """µs an operation of W1 and W7, for more and more operations, and the garbage collector's part: level means linear.

    ``objects`` is a loop that only makes an object for each operation, which holds the one before: what the collector
    takes for that no graph of Python objects can go below.
    """
    code = (
        "import sys; sys.path.insert(0, {here!r})\n"
        "from engine_speed import chain_of_objects, collector, program, timed\n"
        "from engine_workloads import data as d\n"
        "d.W1_OPERATIONS = d.W7_OPERATIONS = {count}\n"
        "step = chain_of_objects({count}) if {name!r} == 'objects' else program({name!r}, {workload!r}, 'f4')\n"
        "step(lambda: None)\n"
        "whole, part = min(collector(lambda: timed(step)[0]) for _ in range(2))\n"
        "print(whole / {count} * 1e6, part / {count} * 1e6)\n"
    )
    rows = [(w, n) for w in ("W1", "W7") for n in names if n in ("numpy", "retrograd", "torch")]
    for workload, name in [*rows, ("", "objects")]:
        for count in (10_000, 100_000, 1_000_000):
            text = code.format(here=str(HERE), count=count, name=name, workload=workload)
            whole, part = run_alone(text)
            print(f"{workload:2s} {name:10s} {count:9,d} operations: {whole:6.2f} µs each, {part:.2f} the collector's")


def chain_of_objects(count: int) -> Any:
    """A step that makes small objects, each of which holds the one before, and lets go of them."""

    class Held:
        __slots__ = ("before", "number")

    def run(halfway: Any) -> None:
        last = None
        for number in range(count):
            held = Held()
            held.before, held.number = last, number
            last = held
        halfway()
        while last is not None:
            before, last.before = last.before, None
            last = before

    return run


def collector(measure: Any) -> tuple[float, float]:
    """What ``measure()`` returns, and the CPU seconds that Python's garbage collector took meanwhile."""
    spent, began = 0.0, 0.0

    def heard(phase: str, _: Any) -> None:
        nonlocal spent, began
        if phase == "start":
            began = time.process_time()
        else:
            spent += time.process_time() - began

    gc.callbacks.append(heard)
    try:
        return measure(), spent
    finally:
        gc.callbacks.remove(heard)


def run_alone(code: str) -> list[float]:
    """The numbers that a fresh interpreter prints."""
    path = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, **PINNED, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)
    return [float(number) for number in done.stdout.split()]


def memory(names: list[str]) -> None:
    """Peak memory that one step adds to what the process has after loading the arrays."""
    for workload in ("W3", "W10"):
        for name in (n for n in names if n in ("numpy", "retrograd", "torch")):
            code = (
                f"import sys; sys.path.insert(0, {str(HERE)!r}); import engine_speed\n"
                f"print(engine_speed.peak(engine_speed.program({name!r}, {workload!r}, 'f4')))"
            )
            print(f"{workload} {name:10s} {run_alone(code)[0]:7.1f} MiB", flush=True)


def peak(step: Any) -> float:
    """MiB by which a step raises the high-water mark; the first step, so that nothing is there to be used again."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step(lambda: None)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    """Read the arguments and do what they ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="W1,W2,W3,W4,W5,W6,W7,W8,W9")
    parser.add_argument("--with", dest="names", default=",".join(CONTENDERS))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.06, help="length of a visit")
    for mode in ("check", "growth", "memory"):
        parser.add_argument(f"--{mode}", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve)
        return
    names, workloads = installed(given.names), given.only.split(",")
    if given.check:
        check(names, workloads)
    elif given.growth:
        growth(names)
    elif given.memory:
        memory(names)
    else:
        compare(names, workloads, given.rounds, given.seconds)


if __name__ == "__main__":
    main()
