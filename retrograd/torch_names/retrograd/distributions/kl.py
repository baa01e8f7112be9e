"""``kl_divergence``: a table of rules for pairs of distributions; the nearest classes decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_RULES: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorator: the function is the divergence of distributions of these classes and of their subclasses."""

    def register(rule: Any) -> Any:
        _RULES[type_p, type_q] = rule
        return rule

    return register


def _distance(given: type, registered: type) -> int:
    return given.__mro__.index(registered)


def kl_divergence(p: Any, q: Any) -> Any:
    """``E_p[log p - log q]`` of each pair of the batch; ``NotImplementedError`` where no rule is known."""
    fitting = [pair for pair in _RULES if isinstance(p, pair[0]) and isinstance(q, pair[1])]
    if not fitting:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    nearest = min(fitting, key=lambda pair: _distance(type(p), pair[0]) + _distance(type(q), pair[1]))
    return _RULES[nearest](p, q)
