"""Repeats a step: runs the program's own lines again, from the start of the loop's iteration to the optimizer's step.

The loop (or function) that steps is found in the program's source; its statements are compiled with their own line
numbers and run with the variables of the frame. Parameters, buffers, gradients and generators are first restored to
their state at that time. Whether it was the same step is checked by the loss.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from ..program.frames import read_locals
from ..program.syntax import parsed
from ..program.texts import plain_lines
from .engines import Engine

_CONSUMING = frozenset({"next", "input", "open", "send", "recv", "get", "put", "anext", "write", "save", "all_reduce"})
"""Calls that would take something that is there only once, or write it once more."""


_RENEWED = 64
"""Steps after which buffers are looked for anew."""


class CannotRepeat(Exception):  # noqa: N818 -- why, in a sentence
    """Why a step cannot be run again."""


def states_of_generators(put_back: Callable[[], None]) -> Callable[[], None]:
    """Note the states of Python's and NumPy's generators; return what puts them and the engine's back."""
    python, numpy = random.getstate(), np.random.get_state()

    def restore() -> None:
        random.setstate(python)
        np.random.set_state(numpy)
        put_back()

    return restore


class StepCode:
    """The statements of one step, compiled."""

    def __init__(self, frame: FrameType, taken_up_to: int) -> None:
        tree = _text_of(frame)
        around = _innermost(tree, frame)
        body = _up_to(around.body, taken_up_to)
        if not body:
            raise CannotRepeat("the lines of the step were not found in the text of the program")
        consuming = _called(body) & _CONSUMING
        if consuming:
            raise CannotRepeat(f"the step calls {', '.join(sorted(consuming))}(), which cannot be done twice")
        if any(isinstance(one, ast.Yield | ast.YieldFrom | ast.Await) for part in body for one in ast.walk(part)):
            raise CannotRepeat("the step is part of a generator or coroutine")
        self._file = frame.f_code.co_filename
        self._body = body

    def run(self, variables: dict[str, Any], namespace: dict[str, Any]) -> None:
        """Run the statements once, with copies of the variables."""
        names = [name for name in variables if name.isidentifier()]
        arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        once = ast.For(ast.Name("_once", ast.Store()), ast.Tuple([ast.Constant(0)], ast.Load()), self._body, [])
        made = ast.FunctionDef("_step", arguments, [once], [])
        module = ast.Module([made], [])
        first = self._body[0]
        for node in (once, made):
            ast.copy_location(node, first)
        ast.fix_missing_locations(module)
        code = compile(module, self._file, "exec", dont_inherit=True)
        local: dict[str, Any] = {}
        exec(code, namespace, local)
        local["_step"](*(variables[name] for name in names))


def _text_of(frame: FrameType) -> ast.Module:
    """Return the syntax tree of the file that a frame is of."""
    try:
        lines = plain_lines(frame.f_code.co_filename)
    except (OSError, UnicodeError):
        lines = []
    tree = parsed("\n".join(lines) + "\n") if lines else None
    if tree is None:
        raise CannotRepeat("the text of the program is not at hand")
    return tree


def _innermost(tree: ast.Module, frame: FrameType) -> Any:
    """Return the loop around the line of a frame within its function; the function where there is none."""
    line, first = frame.f_lineno, frame.f_code.co_firstlineno
    around = [one for one in ast.walk(tree) if _holds(one, line)]
    functions = [one for one in around if isinstance(one, ast.FunctionDef) and _begins(one) == first]
    function: Any = functions[-1] if functions else tree if frame.f_code.co_name == "<module>" else None
    if function is None:
        raise CannotRepeat("the function of the step was not found in the text of the program")
    inside = set(ast.walk(function))
    loops = [one for one in around if isinstance(one, ast.For | ast.While) and one in inside]
    if not loops and function is tree:
        raise CannotRepeat("the step is in no loop and no function")
    return min(loops, key=lambda one: (one.end_lineno or 0) - one.lineno) if loops else function


def _begins(function: ast.FunctionDef) -> int:
    """Return the line that Python counts as the first one of a function: that of its first decorator."""
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


def _holds(node: ast.AST, line: int) -> bool:
    begin = getattr(node, "lineno", None)
    return (begin is not None and begin <= line <= (getattr(node, "end_lineno", 0) or 0)) or isinstance(
        node, ast.Module
    )


def _up_to(body: list[ast.stmt], line: int) -> list[ast.stmt]:
    """Return the statements of a block up to the one that holds a line."""
    for place, one in enumerate(body):
        if _holds(one, line):
            return body[: place + 1]
    return []


def _called(body: list[ast.stmt]) -> set[str]:
    """Return the last names of what statements call."""
    calls = (one.func for part in body for one in ast.walk(part) if isinstance(one, ast.Call))
    return {one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in calls}


@contextmanager
def steps_left_out(optimizers: list[Any]) -> Iterator[None]:
    """Let optimizers take no steps in a block."""
    had = [vars(one).get("step") for one in optimizers]
    for one in optimizers:
        one.step = lambda *args, **kwargs: None
    try:
        yield
    finally:
        for one, step in zip(optimizers, had, strict=True):
            if step is None:
                del one.step
            else:
                one.step = step


class Before:
    """The state at the beginning of a step that must be restored to run it again; noted during training."""

    def __init__(self, engine: Engine, buffers: Callable[[], list[Any]]) -> None:
        self._engine, self._find_buffers = engine, buffers
        self._steps = 0
        self._known: list[Any] = []
        self._buffers: list[tuple[Any, Any]] = []
        self._gradients: list[tuple[Any, Any]] = []
        self._random: Callable[[], None] = states_of_generators(engine.random_states())

    def step_begins(self) -> None:
        """The step before is over: note buffers and generators."""
        if self._steps % _RENEWED == 0:
            self._known = self._find_buffers()
        self._steps += 1
        self._buffers = [(one, self._engine.copy(one)) for one in self._known]
        self._random = states_of_generators(self._engine.random_states())

    def backward_begins(self, parameters: list[Any]) -> None:
        """The first backward pass of a step is about to run: note the gradients that are there already."""
        there = ((one, one.grad) for one in parameters)
        self._gradients = [(one, self._engine.copy(grad)) for one, grad in there if grad is not None]

    def put_back(self, values: list[tuple[Any, Any]]) -> None:
        """Let everything be as it was: parameters have values, gradients, buffers and generators what was noted."""
        kept = {id(one): grad for one, grad in self._gradients}
        for one, value in [*values, *self._buffers]:
            self._engine.write(one, value)
        for one, _ in values:
            one.grad = kept.get(id(one))
        self._random()


def variables_of(frame: FrameType) -> dict[str, Any]:
    """Return the variables of a frame; of a module's none, they are found as globals."""
    return {} if frame.f_code.co_name == "<module>" else read_locals(frame)
