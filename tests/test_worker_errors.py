"""What workers raise is told with their lines, and what is lost on its way between processes is told at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from side_by_side import retrograd

from retrograd.inspect.program.failures import relayed

torch = pytest.importorskip("torch")

DATA = """
import TORCH as torch
from TORCH.utils.data import DataLoader, Dataset
table = torch.nn.Embedding(4, 3)
class Rows(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, number):
        row = table(torch.tensor(number))
        return row.numpy()  # the line
"""
USE = """
from TORCH.utils.data import DataLoader
from data import Rows
for batch in DataLoader(Rows(), batch_size=2, num_workers=1):
    print(batch)
"""


@pytest.mark.parametrize("engine", ["torch", "retrograd"])
def test_a_worker_of_a_loader(tmp_path: Path, engine: str) -> None:
    """The exception is the data set's, at its line in its file; the worker is no process that went unrecorded."""
    (tmp_path / "data.py").write_text(DATA.replace("TORCH", engine))
    (tmp_path / "use.py").write_text(USE.replace("TORCH", engine))
    done = retrograd("diagnose", "use.py", "-o", "found.json", cwd=tmp_path)
    found = json.loads((tmp_path / "found.json").read_text())
    line = 1 + DATA.splitlines().index("        return row.numpy()  # the line")

    assert done.code == 1
    assert [(one["kind"], Path(one["file"]).name, one["line"]) for one in found["findings"]] == [
        ("numpy-on-grad", "data.py", line)
    ]
    assert not any("process" in sentence for sentence in found.get("unseen", ()))


def test_what_a_queue_drops(tmp_path: Path) -> None:
    """A tensor with a history that was put into a queue never arrives; its process tells, also when it is ended."""
    (tmp_path / "program.py").write_text("""
import queue, time
import torch
context = torch.multiprocessing.get_context("fork")
def produce(results, waits):
    weight = torch.ones(3, requires_grad=True)
    results.put([1, {"loss": (weight * 2).sum()}])
    time.sleep(waits)
for waits in (0, 60):
    results = context.Queue()
    process = context.Process(target=produce, args=(results, waits))
    process.start()
    try:
        print(results.get(timeout=2))
    except queue.Empty:
        print("nothing")
    process.kill()
    process.join()
""")
    retrograd("diagnose", "--children", "program.py", "-o", "found.json", cwd=tmp_path)
    findings = json.loads((tmp_path / "found.json").read_text())["findings"]

    assert [(one["kind"], one["line"]) for one in findings] == [("refused-call", 7)]
    assert findings[0]["process"] == "process 1 (ForkProcess-1), process 2 (ForkProcess-2)"


def fails(kind: type[Exception], text: str) -> str:
    """What PyTorch makes of an exception that a worker raises."""
    wrapper = None
    try:
        try:
            torch.ones(2).view(3)
        except RuntimeError as cause:
            raise kind(text) from cause
    except kind:
        wrapper = torch._utils.ExceptionWrapper(where="in replica 1 on device 0")
    try:
        wrapper.reraise()
    except Exception as error:
        return str(error)


@pytest.mark.parametrize(
    ("kind", "text"), [(ValueError, "one"), (KeyError, "two"), (UnicodeError, "a\n  File b"), (TimeoutError, "")]
)
def test_messages_of_wrapped_exceptions(kind: type[Exception], text: str) -> None:
    """The message of PyTorch's own wrapper is taken apart: the last exception, not its cause, and whose ``raise``."""
    found = relayed(fails(kind, text))

    assert (found.where, found.type, found.message) == ("in replica 1 on device 0", kind.__name__, str(kind(text)))
    assert (found.line.file, found.line.function) == (__file__, "fails")
    assert found.by_program
    assert not found.raised_in


def test_other_messages() -> None:
    """A message that only begins alike is none."""
    assert relayed("Caught a cold in the worker.\nOriginal Traceback") is None
    assert relayed("") is None
