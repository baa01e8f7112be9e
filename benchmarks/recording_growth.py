"""What recording at level ``full`` and diagnosing a chain of operations cost, by its length: both are to be linear.

``python benchmarks/recording_growth.py`` does 10,000 and 100,000 operations, each in an interpreter of its own; give
lengths to do others (1,000,000 take some minutes and 3 GB).
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time


def chain(count: int) -> None:
    """The program."""
    import retrograd as rg

    h = rg.ones(3, requires_grad=True)
    for _ in range(count):
        h = h * 1.0000001
    h.sum().backward()


def megabytes() -> float:
    """Most memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measured(count: int) -> str:
    """A line of the table; CPU times."""
    import retrograd as rg

    chain(10)
    before = time.process_time()
    chain(count)
    plain = time.process_time() - before
    least = megabytes()
    before = time.process_time()
    with rg.debug() as trace:
        chain(count)
    recorded = time.process_time() - before
    recording = megabytes() - least
    before = time.process_time()
    found = trace.findings
    diagnosed = time.process_time() - before
    return (
        f"{count:9,d} operations: plain {plain:.2f} s, recorded {recorded:.1f} s "
        f"({recorded / count * 1e6:.0f} µs each)"
        f" in {recording:.0f} MB; diagnosed {diagnosed:.1f} s, {megabytes() - least:.0f} MB, {len(found)} findings"
    )


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["one"]:
        print(measured(int(sys.argv[2])), flush=True)
        return
    for count in sys.argv[1:] or ("10000", "100000"):
        subprocess.run([sys.executable, __file__, "one", count], check=True)


if __name__ == "__main__":
    main()
