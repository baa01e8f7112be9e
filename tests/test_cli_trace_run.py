"""`retrograd trace` end to end: what is written where, whatever the program does and however it ends."""

from __future__ import annotations

import importlib
import sys
import types
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from side_by_side import both, finish, retrograd, start

from retrograd.cli.environment import Environment
from retrograd.inspect.recording.loading import load_recording

STEPS = """
import sys
import retrograd as rg
weight = rg.tensor([1.0, 2.0], requires_grad=True)
for step in range(3):
    loss = (weight * (step + 1.0)).sum()
    for _ in range(step):
        loss = rg.exp(loss * 0.1)
    loss.backward()
    print("step", step)
print("args", sys.argv[1:])
"""


def prepared(folder: Path, text: str, name: str = "steps.py") -> Path:
    """Write a script and return its folder."""
    (folder / name).write_text(text)
    return folder


def ops(path: Path) -> list[list[str]]:
    """Operator names of every graph in a saved recording."""
    return [list(graph.op) for graph in load_recording(str(path)).graphs]


def test_without_output_the_tree_goes_to_stderr(tmp_path: Path) -> None:
    """Standard output is the program's alone; the tree of the last graph stands on stderr."""
    outcome = retrograd("trace", "steps.py", "plain", "--", "-o", "theirs", cwd=prepared(tmp_path, STEPS))

    assert outcome.code == 0
    assert outcome.out == "step 0\nstep 1\nstep 2\nargs ['plain', '-o', 'theirs']\n"
    assert outcome.err.count("exp") >= 2
    assert "weight" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["steps.py"]


def test_several_files_at_once(tmp_path: Path) -> None:
    """Each -o is written in the format of its suffix and named on stderr; the JSON holds every backward run."""
    place = prepared(tmp_path, "import os; os.chdir('/')\n" + STEPS)
    names = ["a.svg", "a.json", "a.dot", "a.html"]
    outcome = retrograd("trace", "steps.py", *[word for name in names for word in ("-o", name)], cwd=place, engine=True)

    assert outcome.code == 0
    said = [line for line in outcome.err.splitlines() if "wrote" in line and "3 backward passes" in line]
    assert len(said) == len(names)
    assert ElementTree.parse(place / "a.svg").getroot().tag.endswith("svg")
    assert (place / "a.dot").read_text().startswith("digraph")
    assert "<script" in (place / "a.html").read_text()
    graphs = ops(place / "a.json")
    assert [graph.count("ExpBackward0") for graph in graphs] == [0, 1, 2]
    assert load_recording(str(place / "a.json")).script == "steps.py"


@pytest.mark.parametrize(("step", "exps"), [("last", 2), ("0", 0), ("1", 1), ("-3", 0), ("all", 3)])
def test_step_chooses(tmp_path: Path, step: str, exps: int) -> None:
    """--step draws one backward run, counted from 0 or from the end, or all; and -o - -f puts it on stdout."""
    place = prepared(tmp_path, STEPS)
    outcome = retrograd("trace", "-q", "steps.py", "-o", "-", "-f", "dot", "--step", step, cwd=place, engine=True)

    assert outcome.code == 0
    assert outcome.err == ""
    printed, _, drawn = outcome.out.partition("args []\n")
    assert printed == "step 0\nstep 1\nstep 2\n"
    assert drawn.count('="exp\\n') == exps


def test_what_there_is_not_is_left_out(tmp_path: Path) -> None:
    """A step or scope that the run did not have is a warning that says which there are; the drawings are written."""
    place = prepared(tmp_path, STEPS)
    asked = ("--step", "3", "--expand", "nowhere", "-o", "x.svg", "-o", "x.txt")
    outcome = retrograd("trace", "steps.py", *asked, cwd=place, engine=True)

    assert outcome.code == 0
    assert "no step 3" in outcome.err
    assert "0 to 2" in outcome.err
    assert outcome.err.count("no scope 'nowhere'") == 1
    assert "backward 2" in (place / "x.svg").read_text()
    assert "backward 2" in (place / "x.txt").read_text()


@pytest.mark.parametrize(
    ("end", "code", "drawn"),
    [
        ("sys.stdout = open('theirs.txt', 'w')", 0, True),
        ("sys.stdout = None; sys.stderr = None", 0, True),
        ("sys.stdout.close()", 3, False),
    ],
)
def test_standard_output_in_the_programs_hands(tmp_path: Path, end: str, code: int, drawn: bool) -> None:
    """`-o -` goes to the standard output that the process was started with, or says that it is closed."""
    outcome = retrograd("trace", "steps.py", "-o", "-", cwd=prepared(tmp_path, f"{STEPS}\n{end}\n"), engine=True)

    assert outcome.code == code
    assert ("── sum n" in outcome.out) == drawn
    assert ("Could not write standard output" in outcome.err) != drawn
    assert not (tmp_path / "theirs.txt").exists() or (tmp_path / "theirs.txt").read_text() == ""


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        ("", 0, "nothing.py never called backward"),
        ("raise SystemExit(4)", 4, "nothing.py never called backward"),
        ("raise ValueError('x')", 1, "nothing.py ended by ValueError before it called backward"),
    ],
)
def test_a_program_that_never_calls_backward(tmp_path: Path, end: str, code: int, words: str) -> None:
    """One sentence says that there is nothing to draw and what was not written; the exit code is the program's."""
    text = f"import retrograd as rg\nx = rg.tensor([1.0], requires_grad=True) * 2\n{end}\n"
    outcome = retrograd("trace", "nothing.py", "-o", "x.svg", cwd=prepared(tmp_path, text, "nothing.py"), engine=True)

    assert outcome.code == code
    assert f"{words}, so there is no backward graph and x.svg was not written." in outcome.err
    assert not (tmp_path / "x.svg").exists()


REFUSED = "x = torch.ones(2, requires_grad=True)\n"
WORDS = "grad can be implicitly created only for scalar outputs"


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        ("x.backward()", 1, f"the only backward call of refused.py failed (RuntimeError: {WORDS})"),
        (
            "for _ in range(2):\n    try:\n        x.backward()\n    except RuntimeError:\n        pass",
            0,
            f"each of 2 backward calls of refused.py failed (RuntimeError: {WORDS})",
        ),
    ],
)
def test_a_program_whose_backward_is_refused(tmp_path: Path, end: str, code: int, words: str, engine: str) -> None:
    """It is not said to have called none: the reason of the refusal is told."""
    pytest.importorskip(engine)
    text = f"import {engine} as torch\n{REFUSED}{end}\n"
    cwd = prepared(tmp_path, text, "refused.py")
    outcome = retrograd("trace", "refused.py", "-o", "x.svg", cwd=cwd, engine=engine == "retrograd")

    assert outcome.code == code
    assert f"{words}, so there is no backward graph and x.svg was not written." in outcome.err


ENDINGS = {
    "raise ValueError('x')": 1,
    "sys.exit(4)": 4,
    "sys.exit('text')": 1,
    "raise KeyboardInterrupt": -2,
    "sys.stdout.close(); sys.stderr.close()": 0,
    "sys.stdout = sys.stderr = None": 0,
    "(weight * weight).backward()": 1,
    "(weight * rg.tensor([1.0, 2.0, 3.0])).sum()": 1,
    "del sys.modules['retrograd'], sys.modules['numpy']; sys.path.clear(); os.chdir('/')": 0,
}


@pytest.mark.parametrize("end", ENDINGS)
def test_results_are_written_however_it_ends(tmp_path: Path, end: str) -> None:
    """The recording is written after exceptions, exits and Ctrl-C; words and exit code stay python's."""
    place = prepared(tmp_path, f"import os\n{STEPS}\n{end}\n")
    (place / "pyproject.toml").write_text('[tool.retrograd.trace]\noutput = "x.json"\n')
    expected, got = both("steps.py", cwd=place, engine=True)

    assert expected.code == ENDINGS[end]
    assert got == expected
    recording = load_recording(str(place / "x.json"))
    assert len(recording.graphs) >= 3
    error = next((event for event in recording.events if event.kind == "error"), None)
    assert (error is not None) == (expected.code in (1, -2) and "exit" not in end)
    if error is not None:
        assert (error.source.line, error.data["type"] in expected.err) == (3 + STEPS.count("\n"), True)


def test_threads_and_handlers_are_recorded(tmp_path: Path) -> None:
    """Backward runs in a thread that outlives the script, in an executor and in an atexit handler are all there."""
    text = """
import atexit, threading, time
from concurrent.futures import ThreadPoolExecutor
import retrograd as rg
def run(times):
    time.sleep(0.1)
    loss = rg.tensor(1.0, requires_grad=True)
    for _ in range(times): loss = rg.exp(loss * 0.1)
    loss.backward()
atexit.register(run, 4)
run(1)
threading.Thread(target=run, args=(2,)).start()
ThreadPoolExecutor(1).submit(run, 3)
"""
    place = prepared(tmp_path, text)
    outcome = retrograd("trace", "steps.py", "-o", "x.json", cwd=place, engine=True)

    assert outcome.code == 0
    counts = [graph.count("ExpBackward0") for graph in ops(place / "x.json")]
    assert sorted(counts) == [1, 2, 3, 4]
    assert (counts[0], counts[-1]) == (1, 4)


def test_a_forked_child_leaves_the_results_alone(tmp_path: Path) -> None:
    """A child that runs on to the script's end writes nothing; its parent writes what the parent did."""
    text = STEPS.replace("for step in range(3)", "import os\nchild = os.fork()\nfor step in range(1 if child else 3)")
    place = prepared(tmp_path, text + "\nif child: os.waitpid(child, 0)\n")
    outcome = retrograd("trace", "steps.py", "-o", "x.json", cwd=place, engine=True)

    assert outcome.code == 0
    assert outcome.err.count("wrote") == 1
    assert len(ops(place / "x.json")) == 1


@pytest.mark.parametrize(("end", "code"), [("", 3), ("sys.exit(4)", 4)])
def test_a_folder_that_vanishes_while_the_program_runs(tmp_path: Path, end: str, code: int) -> None:
    """A result that cannot be written after all is one sentence and exit code 3, unless the program has its own."""
    (tmp_path / "out").mkdir()
    place = prepared(tmp_path, f"import os; os.rmdir('out')\n{STEPS}\n{end}\n")
    outcome = retrograd(
        "trace", "steps.py", "-o", "out/x.svg", "-o", "x.dot", "-o", "out/y.json", cwd=place, engine=True
    )

    assert outcome.code == code
    assert outcome.err.count("Could not write") == 2
    assert "Traceback" not in outcome.err
    assert (place / "x.dot").exists()


def test_the_scripts_folder_may_hold_modules_of_our_names(tmp_path: Path) -> None:
    """A rich.py, html.py or graphviz.py beside the script is the script's; ours are found where they were."""
    for name in ("rich", "graphviz", "networkx", "html", "base64"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('imported by mistake')")
    outcome = retrograd("trace", str(prepared(tmp_path, STEPS) / "steps.py"), cwd=Path("/"))

    assert "imported by mistake" not in outcome.err
    assert outcome.code == 0
    assert "weight" in outcome.err


CHANGED_MODULES = {
    "emptied": "sys.modules.clear(); sys.meta_path.clear(); sys.path_hooks.clear(); sys.path.clear()",
    "others": "import rich, html\nfor name in ('json', 'inspect', 'networkx'): sys.modules[name] = None",
}


@pytest.mark.parametrize("change", CHANGED_MODULES.values(), ids=CHANGED_MODULES)
def test_results_are_made_with_modules_as_they_were(tmp_path: Path, change: str) -> None:
    """What a program does to sys.modules and to the finders keeps no result from being written, and stays done."""
    for name in ("rich", "html"):
        (tmp_path / f"{name}.py").write_text("mine = True")
    at_exit = """
class Last:
    def __del__(self, modules=sys.modules, path=sys.path):
        print([vars(modules[name]).get("mine") for name in ("rich", "html") if name in modules], path[1:2])
last = Last()
"""
    script = str(prepared(tmp_path, STEPS + at_exit + change) / "steps.py")
    plain = finish(start([sys.executable, script], Path("/")))
    outcome = retrograd("trace", script, "-o", str(tmp_path / "x.html"), cwd=Path("/"))

    assert (outcome.code, outcome.out) == (0, plain.out)
    assert outcome.err.startswith("retrograd: wrote ")
    assert outcome.err.count("\n") == 1


def test_what_a_library_enters_below_its_name_stays_for_threads_that_still_run(monkeypatch):
    """As PyTorch enters ``torch.ops``, which no file holds; what stands in for a module of a file is put aside."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "wsgiref"]:
        monkeypatch.delitem(sys.modules, name)
    before = Environment()
    library = importlib.import_module("wsgiref")
    monkeypatch.setitem(sys.modules, "wsgiref", library)
    entered, fake = types.ModuleType("wsgiref.entered"), types.ModuleType("wsgiref.util")
    monkeypatch.setitem(sys.modules, "wsgiref.entered", entered)
    monkeypatch.setitem(sys.modules, "wsgiref.util", fake)

    with before.restored():
        seen = [sys.modules.get(name) for name in ("wsgiref", "wsgiref.entered", "wsgiref.util")]
    assert seen == [library, entered, None]
    assert sys.modules["wsgiref.util"] is fake


TORCH = """
import sys
assert "torch" not in sys.modules
print("before torch")
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 1))
for _ in range(2):
    net(torch.ones(2, 3)).sum().backward()
class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): raise ValueError("bad backward")
x = torch.ones(2, 3, requires_grad=True)
def twice():
    y = (x * x).sum(); y.backward(); y.backward()
errors = []
for attempt in (
    lambda: torch.nn.functional.linear(torch.relu(x), torch.ones(5, 5)),
    lambda: torch.nn.functional.cross_entropy(x, torch.zeros(7, dtype=torch.long)),
    lambda: torch.nn.functional.softmax(x, 17),
    lambda: torch.einsum("ij,jk->ik", x, x),
    lambda: Bad.apply(x).sum().backward(),
    lambda: x.view(5),
    twice,
):
    try: attempt()
    except Exception as error: errors.append(error)
raise ExceptionGroup("several", errors)
"""


def test_torch_imported_by_the_program(tmp_path: Path) -> None:
    """A PyTorch program is recorded although it imports torch later; its traceback has no frames of ours."""
    pytest.importorskip("torch")
    place = prepared(tmp_path, TORCH)
    (place / "pyproject.toml").write_text('[tool.retrograd.trace]\noutput = "x.json"\n')
    expected, got = both("steps.py", cwd=place)

    assert expected.code == 1
    assert expected.err.count("Error: ") == 7
    assert got == expected
    assert [graph.count("ReluBackward0") for graph in ops(place / "x.json")][:2] == [1, 1]
