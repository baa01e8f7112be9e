"""Jobs of two ranks on the loopback, recorded one after another by forks of one process that has imported PyTorch.

Those that never end stand beside the others, are saved while they stand still, and are killed in the end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

LIMIT = 150.0
"""Seconds for all jobs of one call together; each may take some, after which its ranks are ended by SIGKILL."""
ALLOWED = 60.0
"""Seconds for one that ends by itself."""
SERVER = """
import gc, os, signal, socket, sys, time
import torch._dynamo, torch.distributed._shard, torch.distributed.nn, torch.nn.parallel
from retrograd.cli.main import main
gc.freeze()  # or each rank would walk all of PyTorch's modules when it ends

def start(program, place, rank, port):
    child = os.fork()
    if child == 0:
        out = os.open(place + f"/out{rank}.txt", os.O_WRONLY | os.O_CREAT)
        os.dup2(out, 1), os.dup2(out, 2)
        os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        sys.argv = ["retrograd", "trace", program, "--level", "full", "--flush-every", "1", "-o", place + "/run.json"]
        main()
        os._exit(0)
    return child

def wait(children, limit):
    while children and time.monotonic() < limit:
        for child in list(children):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                children.remove(child)
                if status:  # as a launcher does that finds a rank failed
                    limit = min(limit, time.monotonic() + 3)
        time.sleep(0.02)

def begin(program, place):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return [start(program, place, rank, port) for rank in range(2)]

def end(children, limit):
    wait(children, limit)
    for child in children:
        os.kill(child, signal.SIGKILL)
    wait(children, time.monotonic() + 10)

standing = []
for job in sys.argv[1:]:
    program, place, seconds, ends = job.split("|")
    children, limit = begin(program, place), time.monotonic() + float(seconds)
    if ends == "True":
        end(children, limit)
    else:
        standing.append((children, limit))
for children, limit in standing:
    end(children, limit)
"""


def run_jobs(programs: dict[Path, float | None], folder: Path) -> dict[str, list[Path]]:
    """Run each program on two ranks; return the files of its ranks, by its name.

    One that never ends is given so many seconds, others None.
    """
    jobs, places = [], {}
    for program, seconds in sorted(programs.items(), key=lambda one: (one[1] is None, one[0])):
        places[program.stem] = folder / program.stem
        places[program.stem].mkdir()
        jobs.append(f"{program}|{places[program.stem]}|{seconds or ALLOWED}|{seconds is None}")
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", SERVER, *jobs], env=environment, start_new_session=True)
    try:
        process.wait(LIMIT)
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    return {name: sorted(place.glob("run.rank*.json")) for name, place in places.items()}
