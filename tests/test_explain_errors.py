"""Errors of our engine carry what led to them, inside rg.debug() and under anomaly mode; type and message stay."""

from __future__ import annotations

import linecache

import pytest

import retrograd as rg

LEAF = "w = torch.ones(3, requires_grad=True)\n"
PROGRAMS = {
    "leaf": ("w += 1.0\n", "w"),
    "deepcopy": ("import copy\nh = w * 2\ncopy.deepcopy(h)\n", "h"),
    "in-place": ("g = torch.sigmoid(w)\ny = g * 2.0\ng += 1.0\ny.sum().backward()\n", "g"),
    "second time": ("y = (w * w).sum()\ny.backward()\ny.backward()\n", "retain_graph"),
    "no graph": ("y = (w * w).detach().sum()\ny.backward()\n", "detach"),
    "not a scalar": ("y = w * w\ny.backward()\n", "y"),
    "nothing requires grad": ("v = torch.ones(3)\nv.sum().backward()\n", "made without requires_grad=True"),
    "not used": ("v = w * 2\ntorch.autograd.grad((w * 3).sum(), v)\n", "v"),
    "inference": ("with torch.inference_mode():\n    x = torch.ones(3)\ny = w * x\n", "inference_mode"),
    "numpy": ("h = w * 2\nh.numpy()\n", "h"),
}


def raised_by(program: str, surroundings) -> Exception:
    """Run a program inside a context manager that is left without an exception; return what it raised."""
    name = "explained_program.py"
    text = "import retrograd as torch\n" + LEAF + program
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    with surroundings:
        try:
            exec(compile(text, name, "exec"), {"__name__": "__main__"})
        except Exception as error:
            return error
    raise AssertionError("nothing was raised")


def notes(error: Exception) -> str:
    """The notes of an exception as one text."""
    return "\n".join(getattr(error, "__notes__", ()))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("mode", ["debug", "anomaly"])
@pytest.mark.filterwarnings("ignore:Error detected", "ignore:Anomaly Detection")
def test_error_is_explained_where_it_is_caught(name, mode):
    """The note is there before the block ends, and names the variable or call at fault."""
    program, word = PROGRAMS[name]
    plain = raised_by(program, rg.enable_grad())
    error = raised_by(program, rg.debug() if mode == "debug" else rg.autograd.detect_anomaly())

    assert type(error) is type(plain)
    assert not notes(plain)
    assert word in notes(error)
    assert len(error.__notes__) == 1
    if mode == "debug":
        assert str(error) == str(plain)


@pytest.mark.parametrize("mode", ["debug", "anomaly"])
@pytest.mark.filterwarnings("ignore:Error detected", "ignore:Anomaly Detection")
def test_an_error_caught_before_explains_no_later_one(mode):
    """Each error has its own note, or none."""
    program = "errors = []\ny = (w * w).sum()\nz = (w * 2).exp().sum()\ny.backward()\nz.backward()\n"
    for call in ("y.backward()", "z.backward()", "torch.ones(2).backward()"):
        program += f"try:\n    {call}\nexcept RuntimeError as error:\n    errors.append(error)\n"
    surroundings = rg.debug() if mode == "debug" else rg.autograd.detect_anomaly()
    errors = raised_by(program + "raise ExceptionGroup('all', errors)\n", surroundings).exceptions

    assert "backward of y runs a second time" in notes(errors[0])
    assert "backward of z runs a second time" in notes(errors[1])
    assert "second time" not in notes(errors[2])
    assert "does not require grad" in str(errors[2])


def test_nested_blocks_explain_once():
    """An error that leaves two blocks has one note."""
    program, _ = PROGRAMS["leaf"]
    with rg.debug():
        error = raised_by(program, rg.debug())

    assert len(error.__notes__) == 1


def test_errors_of_the_program_itself_are_left_alone():
    """An exception that no check knows passes as it is."""
    with pytest.raises(ZeroDivisionError) as caught, rg.debug():
        _ = 1 / 0
    assert not notes(caught.value)
