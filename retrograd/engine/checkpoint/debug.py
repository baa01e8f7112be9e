"""Lists the operators of both runs of a checkpointed function, for the error that says they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ...interpreter import getframe
from .. import observe
from ..frames import outside
from ..tensors.tensor import Tensor
from .frame import CheckpointError

_RULE = "-" * 78


class _OperatorLog:
    """An observer that writes down each operation with the user's line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def operation(self, op: Any, args: Any, node: Any, inputs: Any, outputs: Any, took: int) -> None:
        """One operation ran."""
        results = outputs if isinstance(outputs, list | tuple) else (outputs,)
        shapes = ", ".join(_described(t) for t in results)
        self.lines.append(f"{op.name} -> {shapes}   {_user_line()}")

    def text(self, label: str) -> str:
        """One numbered line per operation."""
        count = len(self.lines)
        return "\n".join(f"  {line}   ({i} of {count} in {label})" for i, line in enumerate(self.lines, 1))

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Watch the engine inside the block; a repeated run starts a fresh log."""
        self.lines.clear()
        observe.add(self)
        try:
            yield
        finally:
            observe.remove(self)


def _described(value: Any) -> str:
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


def _user_line() -> str:
    """The innermost line outside the engine."""
    frame = outside(getframe())
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


class _Again:
    """The recording of the second run, which may happen several times."""

    def __init__(self, log: _OperatorLog) -> None:
        self.log = log
        self.open: list[Any] = []

    def __enter__(self) -> None:
        context = self.log.recording()
        context.__enter__()
        self.open.append(context)

    def __exit__(self, *exc: object) -> None:
        self.open.pop().__exit__(None, None, None)


def debug_contexts() -> tuple[Callable[[], tuple[Any, Any]], Callable[[CheckpointError], NoReturn]]:
    """A ``context_fn`` that records both runs, and what turns an error into one that shows them."""
    first, second = _OperatorLog(), _OperatorLog()

    def explain(error: CheckpointError) -> NoReturn:
        raise CheckpointError(
            " An error happened while unpacking tensors; dumping logs of latest computation\n"
            "because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\n\n"
            f"1. Operators that ran in the original forward\n{_RULE}\n{first.text('original')}\n\n"
            f"2. Operators that ran during recomputation\n{_RULE}\n{second.text('recompute')}\n\n"
            f"3. What differs\n{_RULE}\n{error}"
        ) from error

    return (lambda: (first.recording(), _Again(second))), explain
