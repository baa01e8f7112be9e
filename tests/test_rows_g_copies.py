"""SPEC row G-32, and save_on_disk: saved values as copies in memory or in files."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from both_engines import differential

import retrograd
from retrograd.autograd.graph import save_on_cpu, save_on_disk


@differential
def test_G_32_gradients(torch):
    """G-32: gradients, also second ones, are those without the context; the settings are accepted."""
    graph = torch.autograd.graph
    found = []
    for context in (graph.save_on_cpu(), graph.save_on_cpu(pin_memory=True), graph.save_on_cpu(device_type="none")):
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        with context:
            y = (a * a * a).sum() + a.exp().sum()
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), a)
        found.append((g, h))
    return found, issubclass(graph.save_on_cpu, graph.saved_tensors_hooks)


@pytest.mark.parametrize("pinned", [False, True])
def test_G_32_always_copies(pinned):
    """G-32: a write after the forward does not reach backward (PyTorch copies only with pin_memory=True)."""
    a = retrograd.ones(2, requires_grad=True)
    b = a.clone()
    with save_on_cpu(pin_memory=pinned):
        y = (b * b).sum()
    with retrograd.no_grad():
        b.mul_(2)
    y.backward()
    assert a.grad.tolist() == [2.0, 2.0]


def files_in(folder: str) -> list[str]:
    """The files that hold values."""
    return sorted(p.name for p in Path(folder).glob("*.npy"))


def test_disk_gradients_and_files(tmp_path):
    """Each saved value is a file; it goes when backward releases the value, the folder with the last of them."""
    a = retrograd.tensor([1.0, 2.0], requires_grad=True)
    with save_on_disk(str(tmp_path)) as nothing, save_on_disk(str(tmp_path)):
        assert nothing is None
        y = (a * a).sum() + a.exp().sum()
    folders = [p for p in tmp_path.iterdir() if files_in(str(p))]
    assert len(folders) == 1
    assert len(files_in(str(folders[0]))) == 3  # both operands of the product, and the result of exp
    y.backward(retain_graph=True)
    assert len(files_in(str(folders[0]))) == 3
    y.backward()
    np.testing.assert_allclose(a.grad.numpy(), 2 * (2 * np.array([1, 2]) + np.exp([1, 2])), rtol=1e-6)
    assert list(tmp_path.iterdir()) == []


def test_disk_graph_that_dies_unused(tmp_path):
    """Files go with a graph on which backward never ran, without the garbage collector."""
    gc.disable()
    try:
        with save_on_disk(str(tmp_path)):
            y = retrograd.ones(3, requires_grad=True).exp()
        assert len(list(tmp_path.glob("*/*.npy"))) == 1
        del y
        assert list(tmp_path.iterdir()) == []
    finally:
        gc.enable()


def test_disk_double_backward_and_layout(tmp_path):
    """Values come back with dtype and layout, connected to the graph, so that second derivatives work."""
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3) + 1)
    a = retrograd.tensor(x, requires_grad=True)
    scale = retrograd.tensor([2, 3, 4])
    with save_on_disk(str(tmp_path)):
        y = (a.t() ** 3).sum() + (a * scale).sum() + a.exp().log().sum()
    (g,) = retrograd.autograd.grad(y, a, create_graph=True)
    (h,) = retrograd.autograd.grad(g.sum(), a)
    np.testing.assert_allclose(g.detach().numpy(), 3 * x**2 + np.array([2, 3, 4]) + 1)
    np.testing.assert_allclose(h.numpy(), 6 * x, atol=1e-9)


def test_disk_writes_later_do_not_count(tmp_path):
    """The file keeps the value at save time."""
    a = retrograd.ones(2, requires_grad=True)
    b = a.clone()
    with save_on_disk(str(tmp_path)):
        y = (b * b).sum()
    with retrograd.no_grad():
        b.mul_(7)
    y.backward()
    assert a.grad.tolist() == [2.0, 2.0]


def test_disk_folder_that_cannot_be_used(tmp_path):
    """A folder that does not exist is one clear error, and no hooks stay active."""
    with pytest.raises(OSError, match="no temporary folder can be made in .*give save_on_disk"):
        save_on_disk(str(tmp_path / "missing"))
    retrograd.ones(1, requires_grad=True).exp().sum().backward()


def test_disk_value_that_cannot_be_written(tmp_path):
    """When a value cannot be written the operation fails with the size and the file, and nothing is left."""
    context = save_on_disk(str(tmp_path))
    folder = Path(context.folder)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    a = retrograd.ones(4, requires_grad=True)
    with context, pytest.raises(OSError, match="a saved value of 16 bytes could not be written to"):
        a.exp()
    a.exp().sum().backward()


PROGRAM = """
import os, signal, sys
import retrograd as torch
from retrograd.autograd.graph import save_on_disk
with save_on_disk(sys.argv[1]):
    y = torch.ones(4, requires_grad=True).exp()
print("saved", flush=True)
{end}
"""


def run_program(folder: Path, end: str) -> int:
    """Run a program that saves one value in this folder and ends in a certain way."""
    command = [sys.executable, "-c", PROGRAM.format(end=end), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "saved\n", done.stderr
    return done.returncode


def test_disk_cleans_up_when_the_program_ends_or_raises(tmp_path):
    """A program that ends or raises with a graph alive leaves no file."""
    assert run_program(tmp_path, "") == 0
    assert run_program(tmp_path, "raise SystemExit(3)") == 3
    assert run_program(tmp_path, "raise ValueError('x')") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no advisory locks there")
def test_disk_next_process_removes_what_a_killed_one_left(tmp_path):
    """A killed program cannot clean up; the next one does, and spares folders that are in use."""
    assert run_program(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)") == -signal.SIGKILL
    assert len(list(tmp_path.glob("*/*.npy"))) == 1
    with save_on_disk(str(tmp_path)):
        y = retrograd.ones(2, requires_grad=True).exp()
    assert len(list(tmp_path.iterdir())) == 1
    assert run_program(tmp_path, "") == 0  # a second process sees our folder and leaves it alone
    assert len(list(tmp_path.iterdir())) == 1
    y.sum().backward()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
def test_disk_forked_child_deletes_nothing(tmp_path):
    """A forked child that drops the graph leaves the parent's files alone."""
    program = PROGRAM.format(
        end="""
child = os.fork()
if child == 0:
    del y
    sys.exit(0)  # also runs what is registered for the end of a program
os.waitpid(child, 0)
y.sum().backward()
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
