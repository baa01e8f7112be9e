"""``torch._dynamo``: nothing is compiled, so there is nothing to reset, and settings change nothing."""

from types import SimpleNamespace

from ..engine.devices.uncompiled import NAMES as _NAMES

config = SimpleNamespace(suppress_errors=False, verbose=False, cache_size_limit=8, recompile_limit=8)
"""Settings that programs make; noted only."""
allow_in_graph, disable, is_compiling, reset = (
    _NAMES[name] for name in ("allow_in_graph", "disable", "is_compiling", "reset")
)


def graph_break(msg: str = "") -> None:
    """Nothing: there is no graph of a compiler that could be broken."""


__all__ = ["allow_in_graph", "config", "disable", "graph_break", "is_compiling", "reset"]
