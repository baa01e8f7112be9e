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

WAYS = """
import gc, os, runpy, sys, threading, warnings
import torch
from retrograd.inspect import diagnose
from retrograd.inspect.process.recorder import recording
from retrograd.inspect.sources.torch_ import problems

def changed_by_watching():
    module, graph = torch.nn.modules.module, torch.autograd.graph
    return (
        torch.autograd._engine_run_backward, graph._engine_run_backward, module._has_any_global_hook,
        torch.autograd.Function.__dict__["apply"], threading.Thread._bootstrap_inner, warnings._showwarnmsg,
        dict(module._global_forward_hooks), dict(module._global_forward_pre_hooks),
        torch.overrides._get_current_function_mode_stack(), list(sys.meta_path),
    )

program, *ways = sys.argv[1:]
sys.argv = [program]
gc.freeze()  # or each fork would walk all of PyTorch's modules when it ends
for way in ways:
    if (child := os.fork()) == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
for number, stream in ((1, "out"), (2, "err")):
    os.dup2(os.open(f"{way}.{stream}", os.O_CREAT | os.O_WRONLY | os.O_APPEND), number)
if way == "alone":
    runpy.run_path(program, run_name="__main__")
    sys.exit()
before = changed_by_watching()
try:
    with recording(level=way) as record:
        runpy.run_path(program, run_name="__main__")
finally:
    assert changed_by_watching() == before, "something was left behind"
    assert not problems.PROBLEMS, problems.PROBLEMS[0]
    told = [finding.message for finding in diagnose(record)]
    assert not told, told
    nested = {event.data["run"] for event in record.events if event.data.get("nested")}
    assert nested & {event.data["run"] for event in record.events if event.kind == "accumulate"}
"""
"""Each way to run the program is a fork of one process, so that PyTorch is imported once."""


def test_as_without_being_watched(tmp_path: Path) -> None:
    """Same output, same exit code, same bits of every gradient; no finding, nothing left, no error of ours."""
    ways = ("alone", "backward", "full")
    words = [sys.executable, "-c", WAYS, str(PROGRAM), *ways]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=tmp_path, check=True)
    out = [(tmp_path / f"{way}.out").read_text() for way in ways]
    err = [told((tmp_path / f"{way}.err").read_text()) for way in ways]

    assert done.stdout == "3\n3\n3\n", err
    assert out[0]
    assert out == [out[0]] * 3
    assert err == [err[0]] * 3


def told(stderr: str) -> list[str]:
    """The lines of standard error without what PyTorch logs itself: of its profiler, of a driver that is missing."""
    return [line for line in stderr.splitlines() if "ActivityProfiler" not in line and "gpuGetDeviceCount" not in line]
