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

from ..program.frames import read_locals, source_line, user_frame
from ..program.syntax import parsed
from ..program.texts import plain_lines
from .engines import Engine

_TAKING = frozenset({"next", "anext", "input", "recv", "get"})
"""Calls that would take what comes next instead of the same again; ``get`` with an argument looks something up."""
_WRITING = frozenset({"open", "send", "put", "write", "save"})
"""Calls that would write something once more."""


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


class Frame:
    """A frame of the program as it is now."""

    def __init__(self, frame: FrameType) -> None:
        self.code, self.line, self._globals = frame.f_code, frame.f_lineno, frame.f_globals
        self._then = dict(frame.f_globals)
        is_module = frame.f_code.co_name == "<module>"
        self.variables = {} if is_module else dict(read_locals(frame))
        """Its variables; those of a module are its globals."""

    def namespace(self) -> dict[str, Any]:
        """Return its globals, with the values that they had."""
        self._globals.update(self._then)
        return self._globals


class Place:
    """Where the program is: its line, and the frames around that as they are now, if they are kept."""

    def __init__(self, frame: FrameType | None, *, kept: bool) -> None:
        self.line = source_line(frame)
        self.frames: list[Frame] = []
        """The frame and those that called it, as far as they are of the program or its libraries."""
        while kept and frame is not None:
            self.frames.append(Frame(frame))
            frame = user_frame(frame.f_back)


class StepCode:
    """The statements of one step, compiled."""

    def __init__(self, frame: Frame) -> None:
        tree = _text_of(frame)
        function = _function_of(tree, frame)
        around = _innermost(function, frame.line)
        body = _up_to(around.body, frame.line)
        if not body:
            raise CannotRepeat("the lines of the step were not found in the text of the program")
        body = [one for place, one in enumerate(body) if not _is_held(one, body[place + 1 :])]
        self.why_not = _why_not(body)
        self._file = frame.code.co_filename
        self._body: list[ast.stmt] = body
        self._in_function = function is not tree
        shared = [name for one in ast.walk(function) if isinstance(one, ast.Global) for name in one.names]
        self._shared: list[ast.stmt] = [ast.Global(shared)] if shared and self._in_function else []
        self.is_turn = around is not function
        """Whether it is a turn of a loop: what is around it holds more than one step."""

    def run(self, variables: dict[str, Any], namespace: dict[str, Any]) -> None:
        """Run the statements once, those of a function with copies of its variables."""
        names = [name for name in variables if name.isidentifier()]
        arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        once = ast.For(ast.Name("_once", ast.Store()), ast.Tuple([ast.Constant(0)], ast.Load()), self._body, [])
        made = ast.FunctionDef("_step", arguments, [*self._shared, once], []) if self._in_function else once
        module = ast.Module([made], [])
        for node in (once, made, *self._shared):
            ast.copy_location(node, self._body[0])
        ast.fix_missing_locations(module)
        exec(compile(module, self._file, "exec", dont_inherit=True), namespace)
        if self._in_function:
            namespace["_step"](*(variables[name] for name in names))


def _text_of(frame: Frame) -> ast.Module:
    """Return the syntax tree of the file that a frame is of."""
    try:
        lines = plain_lines(frame.code.co_filename)
    except (OSError, UnicodeError):
        lines = []
    tree = parsed("\n".join(lines) + "\n") if lines else None
    if tree is None:
        raise CannotRepeat("the text of the program is not at hand")
    return tree


def _function_of(tree: ast.Module, frame: Frame) -> Any:
    """Return the function that a frame runs, the module where it runs that."""
    if frame.code.co_name == "<module>":
        return tree
    line, first = frame.line, frame.code.co_firstlineno
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef) and _begins(one) == first and _holds(one, line):
            return one
    raise CannotRepeat("the function of the step was not found in the text of the program")


def _innermost(function: Any, line: int) -> Any:
    """Return the innermost loop around a line within its function; the function where there is none."""
    loops = [one for one in ast.walk(function) if isinstance(one, ast.For | ast.While) and _holds(one, line)]
    if not loops and isinstance(function, ast.Module):
        raise CannotRepeat("the step is in no loop and no function")
    return min(loops, key=lambda one: (one.end_lineno or 0) - one.lineno, default=function)


def _begins(function: ast.FunctionDef) -> int:
    """Return the line that Python counts as the first one of a function: that of its first decorator."""
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


def _holds(node: ast.AST, line: int) -> bool:
    begin = getattr(node, "lineno", None)
    return (begin is not None and begin <= line <= (getattr(node, "end_lineno", 0) or 0)) or isinstance(
        node, ast.Module
    )


def _up_to(body: list[ast.stmt], line: int) -> list[ast.stmt]:
    """Return the statements of a block up to the last one that holds a line."""
    return body[: max((place + 1 for place, one in enumerate(body) if _holds(one, line)), default=0)]


def _why_not(body: list[ast.stmt]) -> str:
    """Return why statements cannot be run twice, or nothing."""
    calls = _called(body, _TAKING | _WRITING)
    if calls:
        return f"the step calls {', '.join(sorted(calls))}(), which cannot be done twice"
    waits = (isinstance(one, ast.Yield | ast.YieldFrom | ast.Await) for part in body for one in ast.walk(part))
    return "the step is part of a generator or coroutine" if any(waits) else ""


def _called(body: list[ast.stmt], names: frozenset[str]) -> set[str]:
    """Return which of these functions and methods statements call."""
    calls = (one for part in body for one in ast.walk(part) if isinstance(one, ast.Call))
    found = {(getattr(one.func, "attr", getattr(one.func, "id", "")), bool(one.args)) for one in calls}
    return {name for name, has_arguments in found if name in names and not (name == "get" and has_arguments)}


def _is_held(statement: ast.stmt, rest: list[ast.stmt]) -> bool:
    """Whether a statement takes what comes next, a batch, into variables that still hold it at the end of the step."""
    if not isinstance(statement, ast.Assign) or not _called([statement], _TAKING):
        return False
    stored = [_stored([part]) for part in (statement, *rest)]
    plain = all(isinstance(one, ast.Name | ast.Tuple | ast.List) for one in statement.targets)
    return plain and not stored[0] & set[str]().union(*stored[1:])


def _stored(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements assign to."""
    names = (one for part in body for one in ast.walk(part) if isinstance(one, ast.Name))
    return {one.id for one in names if not isinstance(one.ctx, ast.Load)}


@contextmanager
def steps_left_out(optimizers: list[Any]) -> Iterator[None]:
    """Let optimizers take no steps in a block; what computes their gradients, a closure, is called once."""
    had = [vars(one).get("step") for one in optimizers]
    for one in optimizers:
        one.step = lambda closure=None, **_: closure() if callable(closure) else None
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
        self._gradients: list[tuple[Any, Any, Any]] = []
        self._random: Callable[[], None] = states_of_generators(engine.random_states())
        self._noted = self._buffers, self._random
        """Buffers and generators when the last backward pass was over, where steps are found by these."""

    def step_begins(self) -> None:
        """The step before is over: note buffers and generators."""
        if self._steps % _RENEWED == 0:
            self._known = self._find_buffers()
        self._steps += 1
        self._buffers = [(one, self._engine.copy(one)) for one in self._known]
        self._random = states_of_generators(self._engine.random_states())

    def pass_ended(self) -> None:
        """A backward pass is over, after which a step may begin: note the same, to be used once that is known."""
        current = self._buffers, self._random
        self.step_begins()
        self._noted = self._buffers, self._random
        self._buffers, self._random = current

    def step_was_found(self) -> None:
        """A step has begun when the last pass was over."""
        self._buffers, self._random = self._noted

    def backward_begins(self, parameters: list[Any]) -> None:
        """The first backward pass of a step is about to run: note the gradients that are there already."""
        there = ((one, one.grad) for one in parameters)
        self._gradients = [(one, grad, self._engine.copy(grad)) for one, grad in there if grad is not None]

    def put_back(self, values: list[tuple[Any, Any]]) -> None:
        """Let everything be as it was: parameters have values, gradients, buffers and generators what was noted."""
        kept = {id(one): grad for one, grad, _ in self._gradients}
        gradients = [(grad, value) for _, grad, value in self._gradients]
        for one, value in [*values, *self._buffers, *gradients]:
            self._engine.write(one, value)
        for one, _ in values:
            one.grad = kept.get(id(one))
        self._random()
