"""Digests of parameters that ranks compare while they run: who parts is found, and the program does not notice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from retrograd.cli.commands.trace import command
from retrograd.errors import UsageError
from retrograd.inspect.lineup.digests import FANOUT, Comparison, Place, is_left_out, run_together, sentence, writers
from retrograd.inspect.lineup.lineup import missing_ranks
from retrograd.inspect.recording.events import Event, Recording

SIZE = 1024


def compared(steps: int, held: list[list[list[int]]]) -> tuple[list[Comparison], int]:
    """What ranks know after steps of one optimizer, and the number of messages; ``held``: by step and rank."""
    size, sent = len(held[0]), 0
    ranks = [Comparison(Place(number, size)) for number in range(size)]
    for step in range(steps):
        sent += run_together([one.step(0, held[step][n], held[step + 1][n]) for n, one in enumerate(ranks)])
    return ranks, sent


def test_one_of_a_thousand() -> None:
    """All know which rank parts after which step; each rank's own part of a table is not compared."""
    held = [[[step, 7 * step, 100 + rank] for rank in range(SIZE)] for step in range(5)]
    held[3][37][1] = held[4][37][1] = -3
    ranks, sent = compared(4, held)

    assert {(one.steps, one.difference) for one in ranks} == {(3, ranks[0].difference)}
    assert ranks[0].difference is not None
    assert ranks[0].difference.sorts == ((SIZE - 1, (0, 1)), (1, (37,)))
    assert sent == 2 * (SIZE - 1) * 5, "once up and once down for the number of parameters, their values, and each step"
    assert max(len(Place(rank, SIZE).children) for rank in range(SIZE)) == FANOUT


def test_every_rank_goes_its_own_way() -> None:
    """What is kept stays small when all digests differ."""
    ranks, _ = compared(1, [[[1] for _ in range(100)], [[rank] for rank in range(100)]])
    assert ranks[0].difference is not None
    assert (len(ranks[0].difference.sorts), ranks[0].difference.others) == (8, 92)
    event = ranks[99].event()
    assert len(writers(event.data)) == 8
    assert sentence([Recording(events=[event])]).endswith("and 92 with other values")


def test_stages_have_other_parameters() -> None:
    """Ranks whose optimizers have not the same number of parameters are not compared."""
    ranks, _ = compared(2, [[[1], [1, 2], [1]]] * 3)
    assert [(one.steps, one.difference) for one in ranks] == [(0, None)] * 3


def test_who_writes() -> None:
    """Rank 0 and some of each side keep their recordings; others are left out and not missing, unless they failed."""
    ranks, _ = compared(1, [[[1]] * 20, [[1]] * 19 + [[2]]])
    made = [Recording(events=[one.event()], rank=n, world_size=20, complete=True) for n, one in enumerate(ranks)]
    kept = [one for one in made if not is_left_out(one)]

    assert [one.rank for one in kept] == [0, 1, 19]
    assert missing_ranks(kept) == []
    assert missing_ranks(kept[:2]) == [19]
    made[5].events.append(Event("error", data={"type": "ValueError"}))
    made[6].events[0].data["stopped"] = "another rank did not answer"
    assert not is_left_out(made[5])
    assert not is_left_out(made[6])


def test_files_of_all_are_not_asked_for() -> None:
    """What --flush-every has written would stand for a rank that was cut off."""
    with pytest.raises(UsageError, match="--flush-every"):
        command.main(["--digest", "--flush-every", "2", "train.py"], standalone_mode=False)


JOB = """
import json, os, time
import torch, torch._dynamo, torch.distributed as dist, torch.distributed.distributed_c10d as c10d
from contextlib import nullcontext
from retrograd.inspect.sources.torch_.objects.digests import digests_compared

def train(rank, way):
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath(f"store.{way}"), rank=rank, world_size=3)
    torch.manual_seed(0)
    net, own = torch.nn.Linear(4, 2), torch.nn.Parameter(torch.full((2,), float(rank)))
    optimizer = torch.optim.SGD([*net.parameters(), own], lr=0.1)
    for step in range(6):
        if way == "late" and rank == 2 and step == 3:
            time.sleep(4)
        ((net(torch.ones(1, 4)) - own) * 0 + net.bias).square().sum().backward()
        if step == 4 and rank == 1:
            net.weight.data += 1
        optimizer.step()
    last = dist.group.WORLD if way == "late" else dist.new_group([0, 1, 2])
    open(f"{way}.{rank}.connected", "w").close()
    while way != "late" and not all(os.path.exists(f"{way}.{one}.connected") for one in range(3)):
        time.sleep(0.01)  # one that ends takes its connections with it
    return net.bias.tolist(), last.group_name, c10d._world.group_count

for way in ("plain", "compared", "late"):
    children = []
    for rank in range(3):
        children.append(os.fork())
        if children[-1] == 0:
            with nullcontext() if way == "plain" else digests_compared() as digests:
                found, began = train(rank, way), time.monotonic()
                event = digests and digests.end(1.0)
            took = time.monotonic() - began
            with open(f"{way}.{rank}", "w") as file:
                json.dump([event and event.data, took, found], file)
            os._exit(0)
    for child in children:
        os.waitpid(child, 0)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What three ranks know, how long their ends took and what they computed: alone, compared, and with one late."""
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_available():
        pytest.skip("this PyTorch has no torch.distributed")
    place = tmp_path_factory.mktemp("digests")
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    job = subprocess.Popen([sys.executable, "-c", JOB], cwd=place, env=environment, start_new_session=True)
    try:
        assert job.wait(timeout=100) == 0
    finally:
        try:
            os.killpg(job.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    ways = ("plain", "compared", "late")
    return {way: [json.loads((place / f"{way}.{rank}").read_text()) for rank in range(3)] for way in ways}


def test_real_ranks(told: dict[str, list[Any]]) -> None:
    """All three learn which one wrote, and results, names and numbers of groups are those of the job alone."""
    assert [data for data, _, _ in told["compared"]] == [{"steps": 5, "sorts": [[2, 0, 2], [1, 1]], "others": 0}] * 3
    assert [found for _, _, found in told["compared"]] == [found for _, _, found in told["plain"]]


def test_nobody_waits_for_a_rank_that_is_late(told: dict[str, list[Any]]) -> None:
    """Those that end meanwhile end within the time that they were given, and say what was compared."""
    (first, took, _), (_, other, _), (_, last, _) = told["late"]
    assert (first["steps"], first["stopped"]) == (3, "other ranks had not answered at the end")
    assert max(took, other, last) < 3.0
