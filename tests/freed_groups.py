"""Whether a recorded program hangs that frees the last holder of a process group while gloo's threads let go of work.

``python tests/freed_groups.py [--times 20]`` records that many runs of it at each level, and says which of them hung.
It is a race, which a busy machine loses more often; without the wait in ``objects/collectives`` some runs hang there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 120
"""Seconds after which a run counts as hung; it takes three."""
PROGRAM = """
import torch, torch.distributed as dist
from retrograd.inspect.process.recorder import recording

def train():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(4, 3)).sum().backward()
        optimizer.step()
    dist.destroy_process_group()  # from here on the reducer alone holds the group, and is freed on return

with recording(level="{level}"):
    for _ in range(60):
        train()
"""


def hangs(level: str) -> bool:
    """Whether one run did not end."""
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    try:
        command = [sys.executable, "-c", PROGRAM.replace("{level}", level)]
        subprocess.run(command, env=settings, check=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return True
    return False


def main() -> None:
    """Run it at each level, and fail if it hung."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    hung = {level: sum(hangs(level) for _ in range(times)) for level in ("graph", "backward", "full")}
    print(f"hung, of {times} runs each: {hung}")
    sys.exit(any(hung.values()))


if __name__ == "__main__":
    main()
