"""Syntax trees of source texts, where several threads ask for them at once."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from side_by_side import environment

from retrograd.inspect.program.syntax import parsed, parsed_expression

TEXT = "\n".join(f"def f{i}(x):\n    return [x + {i}, (x.sum() * -{i}) ** 2]" for i in range(30))


@pytest.fixture
def other_threads_come_in_between():
    """Let the garbage collector run, and with it other threads, while a tree is being built."""
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()

    def run_python(phase, info):
        pass

    gc.callbacks.append(run_python)
    gc.set_threshold(5)
    sys.setswitchinterval(1e-6)
    yield
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(run_python)
    sys.setswitchinterval(interval)


def test_two_threads_parse_at_once(other_threads_come_in_between):
    """Each gets the tree that one alone gets; Python 3.11.7 itself raises SystemError here."""
    found: list[ast.AST | None] = []
    threads = [threading.Thread(target=lambda: found.extend(parsed(TEXT) for _ in range(15))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.set_threshold(700)
    assert len(found) == 30
    assert {None if tree is None else ast.dump(tree) for tree in found} == {ast.dump(ast.parse(TEXT))}


def test_the_program_parses_at_the_same_time(monkeypatch):
    """A tree that another thread of the program has spoilt is built again."""
    parse, calls = ast.parse, []

    def spoilt(text, *more):
        calls.append(text)
        if len(calls) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=15, after=7)")
        return parse(text, *more)

    with monkeypatch.context() as patched:  # a failing assertion is explained by parsing, too
        patched.setattr(ast, "parse", spoilt)
        tree = parsed_expression("x + 1")
    assert isinstance(tree, ast.BinOp)
    assert calls == ["x + 1"] * 3


def test_python_warns_of_a_text_once(recwarn):
    """What it says when it compiles the program it does not say again when we read that, and no filter is left."""
    warnings.simplefilter("always")
    before = list(warnings.filters)
    text = "x = '\\d'"
    compile(text, "program.py", "exec")
    assert len(recwarn) == 1
    assert parsed(text) is not None
    assert parsed_expression(text[4:]) is not None
    assert len(recwarn) == 1
    assert warnings.filters == before


def test_a_warning_that_is_shown_once_stays_shown(tmp_path):
    """Reading a text does not make Python forget which warnings it has shown."""
    program = """
import warnings
from retrograd.inspect.program.syntax import parsed
warnings.simplefilter("default")
for _ in range(3):
    warnings.warn("once")
    parsed("x = '\\\\d'")
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", f'{path}:6: UserWarning: once\n  warnings.warn("once")\n')


@pytest.mark.parametrize("text", ["x +", "x\0", "(" * 5000, "x = 1"])
def test_what_is_no_expression_has_no_tree(text):
    """Nothing is raised for it."""
    assert parsed_expression(text) is None


def test_every_text_of_a_program_is_parsed_here():
    """What runs beside a program goes by these functions: no other file of the inspector parses."""
    room = Path(sys.modules[parsed.__module__].__file__).parents[1]
    others = {path.name for path in room.rglob("*.py") if "ast.parse(" in path.read_text(encoding="utf-8")}
    assert others == {"syntax.py"}
