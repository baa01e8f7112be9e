"""``torch.compile`` and its kin: there is no compiler, so a function is its own compiled form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compile(model: Any = None, **options: Any) -> Any:  # noqa: A001 - torch's name
    """``model`` as it is, also as a decorator with options: it computes the same either way."""
    return (lambda function: function) if model is None else model


def as_it_is(function: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A decorator that changes nothing, with or without arguments."""
    return function if callable(function) else lambda given: given


def never() -> bool:
    """Whether something is being compiled or scripted: no."""
    return False


NAMES: dict[str, Callable[..., Any]] = dict.fromkeys(
    ("allow_in_graph", "disable", "export", "ignore", "interface", "script", "script_method", "substitute_in_graph",
     "trace", "unused"), as_it_is,
)  # fmt: skip
NAMES |= dict.fromkeys(("is_compiling", "is_dynamo_compiling", "is_exporting", "is_scripting", "is_tracing"), never)
NAMES["reset"] = lambda: None
