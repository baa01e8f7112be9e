"""What a long program costs to record: memory and CPU time a step in the course of it, and what its file takes.

``python benchmarks/long_programs.py [--steps N] [--level LEVEL] [--keep N|all]`` trains a small net on PyTorch.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = """
import sys, time, torch
from torch import nn

net = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(32, 32), nn.GELU(), nn.LayerNorm(32))))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
data, steps = torch.randn(512, 32), int(sys.argv[1])


def memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


began, first = time.process_time(), memory()
for step in range(1, steps + 1):
    place = step * 32 % 512
    optimizer.zero_grad()
    nn.functional.mse_loss(net(data[place : place + 32]), data[place : place + 32]).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if step % (steps // 8) == 0:
        now = time.process_time()
        print(f"{step:>8,} steps: {memory() - first:6.1f} MB more, {(now - began) / (steps // 8) * 1e3:.2f} ms a step")
        began = now
"""


def main() -> None:
    """Run the program alone and recorded, then draw what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--level", default="full")
    parser.add_argument("--keep", default="200")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script, file = Path(folder, "train.py"), Path(folder, "run.json")
        script.write_text(PROGRAM)
        print("alone", flush=True)
        subprocess.run([sys.executable, str(script), str(asked.steps)], check=True)
        print(f"recorded at level {asked.level}, --keep {asked.keep}", flush=True)
        trace = ["trace", "--level", asked.level, "--keep", asked.keep, "-o", str(file), str(script), str(asked.steps)]
        subprocess.run([sys.executable, "-m", "retrograd", *trace], check=True)
        began = time.perf_counter()
        drawn = ["render", str(file), "-o", str(Path(folder, "run.html"))]
        subprocess.run([sys.executable, "-m", "retrograd", *drawn], check=True)
        print(f"file of {file.stat().st_size / 1e6:.1f} MB, drawn in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
