"""``torch.jit``: functions and modules as they are, since nothing is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, NoReturn

from .engine.devices.uncompiled import NAMES, as_it_is
from .nn.module import Module

globals().update(NAMES)
freeze = optimize_for_inference = script_if_tracing = as_it_is


class ScriptModule(Module):
    """A module whose methods PyTorch would compile; here a module."""


RecursiveScriptModule = TopLevelTracedModule = ScriptModule


class ScriptFunction:
    """What PyTorch makes of a function; there is none here."""


class Error(RuntimeError):
    """What compiled code raises in PyTorch; nothing here does."""


class TracerWarning(Warning):
    """What PyTorch warns of while it traces; nothing here does."""


class Attribute(NamedTuple):
    """A value of a module, with its type."""

    value: Any
    type: Any


class Future:
    """A call that is done."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def wait(self) -> Any:
        """What it returned."""
        return self._value


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value."""
    return the_value


def trace_module(mod: Any, inputs: Any, **options: Any) -> Any:
    """The module itself."""
    return mod


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call a function now."""
    return Future(func(*args, **kwargs))


def wait(future: Future) -> Any:
    """What the call returned."""
    return future.wait()


def _refused(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        "nothing is compiled here, so there are no compiled modules in files: torch.save(model.state_dict(), path) "
        "keeps the parameters of one, model.load_state_dict(torch.load(path)) has them again"
    )


load = save = _refused


def set_fusion_strategy(strategy: Any) -> list[Any]:
    """Noted nowhere: nothing is fused."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Nothing: nothing is fused."""


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block like any other."""
    yield


@contextmanager
def strict_fusion() -> Iterator[None]:
    """A block like any other."""
    yield


__all__ = [  # noqa: PLE0604
    *NAMES, "Attribute", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule",
    "TopLevelTracedModule", "TracerWarning", "annotate", "enable_onednn_fusion", "fork", "freeze", "load",
    "optimize_for_inference", "optimized_execution", "save", "script_if_tracing", "set_fusion_strategy",
    "strict_fusion", "trace_module", "wait",
]  # fmt: skip
