"""A PyTorch program with everything around autograd behaves under watch to the bit as it does alone.

Checkpoints of both sorts, threads, DataLoader workers, nested ``rg.debug``, ``autograd.grad``, double backward,
transforms, hostile names, failures, hooks, modes, odd tensors, copies and traces of modules, lifetimes, fork, exit.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
PROGRAM = Path(__file__).parent / "torch_programs" / "around_autograd.py"

WATCHED = """
import runpy, sys, threading, warnings
import torch
from retrograd.inspect import diagnose, recording
from retrograd.inspect.sources.torch_ import calls as torch_calls

def changed_by_watching():
    module, graph = torch.nn.modules.module, torch.autograd.graph
    return (
        torch.autograd._engine_run_backward, graph._engine_run_backward, module._has_any_global_hook,
        torch.autograd.Function.__dict__["apply"], threading.Thread._bootstrap_inner, warnings._showwarnmsg,
        dict(module._global_forward_hooks), dict(module._global_forward_pre_hooks),
        torch.overrides._get_current_function_mode_stack(), list(sys.meta_path),
    )

program, level = sys.argv[1:]
before = changed_by_watching()
sys.argv = [program]
try:
    with recording(level=level) as record:
        runpy.run_path(program, run_name="__main__")
finally:
    assert changed_by_watching() == before, "something was left behind"
    assert not torch_calls.PROBLEMS, torch_calls.PROBLEMS[0]
    told = [finding.message for finding in diagnose(record)]
    assert not told, told
    nested = {event.data["run"] for event in record.events if event.data.get("nested")}
    assert nested & {event.data["run"] for event in record.events if event.kind == "accumulate"}
"""


def run(*command: str) -> tuple[int, str, str]:
    """Run Python; of stderr the lines that PyTorch's own profiler writes are left out."""
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    told = [line for line in done.stderr.splitlines() if "ActivityProfiler" not in line]
    return done.returncode, done.stdout, "\n".join(told)


@pytest.fixture(scope="module")
def alone() -> tuple[int, str, str]:
    """What the program does without being watched."""
    return run(str(PROGRAM))


@pytest.mark.parametrize("level", ["backward", "full"])
def test_as_without_being_watched(alone, level):
    """Same output, same exit code, same bits of every gradient; no finding, nothing left, no error of ours."""
    assert alone[0] == 3
    assert run("-c", WATCHED, str(PROGRAM), level) == alone
