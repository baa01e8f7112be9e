"""What `import retrograd` costs, as a ratio to `import numpy`.

    python benchmarks/import_cost.py [--rounds 15]

Fresh interpreters import the one and the other in turn, so that a busy machine troubles both alike. The time of an
empty interpreter is taken off both. The engine is loaded on first use; that is measured as well. CPU time, not wall
time; the median of the rounds' ratios counts. The bar is 1.3.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BAR = 1.3
PROGRAMS = {
    "empty": "pass",
    "numpy": "import numpy",
    "retrograd": "import retrograd",
    "first use": "import retrograd; retrograd.tensor",
}
ROOT = Path(__file__).resolve().parent.parent
BYTE_CODE = tempfile.mkdtemp(prefix="retrograd-bytecode-")


def cpu_seconds(program: str) -> float:
    """CPU time (user and system) of a fresh interpreter that runs one line."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its byte code
    environment["PYTHONPYCACHEPREFIX"] = BYTE_CODE
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def measure(rounds: int) -> dict[str, list[float]]:
    """CPU seconds of every program in every round, the first round (cold caches, byte code) left out."""
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for round_number in range(rounds + 1):
        for name, program in PROGRAMS.items():
            seconds = cpu_seconds(program)
            if round_number:
                times[name].append(seconds)
    return times


def main() -> int:
    """Print the table; exit 1 above the bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    times = measure(parser.parse_args().rounds)

    for name, seconds in times.items():
        print(f"{name:10} median {statistics.median(seconds) * 1e3:7.1f} ms   best {min(seconds) * 1e3:7.1f} ms")
    empty = statistics.median(times["empty"])
    pairs = zip(times["retrograd"], times["numpy"], strict=True)
    ratio = statistics.median((ours - empty) / (numpys - empty) for ours, numpys in pairs)
    print(f"import retrograd / import numpy = {ratio:.2f}   (bar {BAR})")
    used = zip(times["first use"], times["numpy"], strict=True)
    first = statistics.median((ours - empty) / (numpys - empty) for ours, numpys in used)
    print(f"the same with the engine, which is loaded on first use = {first:.2f}")
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
