"""``torch.compile`` and related functions: there is no compiler, so a function is returned as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FORMS: dict[type, Callable[[Any], Any]] = {}
"""Class -> what wraps its objects when they are compiled."""


def compile(model: Any = None, **options: Any) -> Any:  # noqa: A001 - torch's name
    """A function as it is, a module in its wrapper, also as a decorator with options: both compute the same."""
    if model is None:
        return lambda given: compile(given, **options)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    wraps = next((wrap for kind, wrap in FORMS.items() if isinstance(model, kind)), None)
    return model if wraps is None else wraps(model)


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Names of compilers: none is here, so any that is asked for is taken, and none does anything."""
    return []


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
