"""What a PyTorch program that is recorded sees of the errors that it catches."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from retrograd.inspect.process.recorder import recording

torch = pytest.importorskip("torch")


def _fail(*_: Any) -> Any:
    raise ValueError("mine")


class Failing(torch.autograd.Function):
    """Its backward rule fails."""

    forward = staticmethod(lambda ctx, x: x.clone())
    backward = staticmethod(_fail)


class FailingAtOnce(torch.autograd.Function):
    """Its forward fails."""

    forward = staticmethod(_fail)


class Recomputed(torch.nn.Module):
    """A checkpointed block that fails when it is computed again."""

    def forward(self, x):
        """Compute it once."""
        self.calls = getattr(self, "calls", 0) + 1
        return x.sin() if self.calls % 2 else _fail()


def _twice(x):
    loss = x.exp().sum()
    loss.backward()
    loss.backward()


def _hooked(x):
    y = x * 2
    y.register_hook(_fail)
    y.sum().backward()


def _optimized(x):
    torch.optim.SGD([x], lr=0.1).step(_fail)


def _checkpointed(x):
    torch.utils.checkpoint.checkpoint(Recomputed(), x, use_reentrant=False).sum().backward()


FAILURES: dict[str, Callable[[Any], Any]] = {
    "an operator": lambda x: x @ torch.ones(3),
    "a function written in Python": lambda x: torch.nn.functional.cross_entropy(x, x.long()),
    "a module": lambda x: torch.nn.Linear(2, 3)(torch.ones(4)),
    "a backward pass": _twice,
    "a backward rule": lambda x: Failing.apply(x).sum().backward(),
    "a Function": lambda x: FailingAtOnce.apply(x),
    "a hook": _hooked,
    "a closure": _optimized,
    "an optimizer": lambda x: torch.optim.SGD([], lr=0.1),
    "a parameter": lambda x: torch.nn.Parameter("a"),
    "a checkpointed block": _checkpointed,
    "a call without arguments": lambda x: torch.nn.Linear(2, 2).register_forward_hook(),
    "a question to a tensor": lambda x: x.no_such_name,
}


def _caught(fail: Callable[[Any], Any]) -> tuple[str, list[str]]:
    """Return the error's words, and its places; of PyTorch's own frames those that modes and hooks do not multiply."""
    with pytest.raises(Exception) as caught:
        fail(torch.ones(2, requires_grad=True))
    frames = traceback.extract_tb(caught.value.__traceback__)[1:]  # from the call above on
    words = traceback.format_exception_only(caught.value)
    return "".join(words), [f"{frame.filename}:{frame.lineno}" for frame in frames if "/torch/" not in frame.filename]


@pytest.mark.parametrize("level", ["graph", "backward", "full"])
@pytest.mark.parametrize("name", FAILURES)
def test_an_error_that_the_program_catches_has_no_frame_of_ours(name: str, level: Any) -> None:
    """Words and traceback are those of a run that nobody watches, but for PyTorch's own detours."""
    alone = _caught(FAILURES[name])
    with recording(level=level):
        watched = _caught(FAILURES[name])

    assert watched == alone
