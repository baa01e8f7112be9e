"""Anomaly mode: where did the failing node come from, and which node first returned NaN."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ..core.argument_checks import check_bool
from ..core.base import TensorBase
from ..nodes.node import GraphNode
from ..overriding.dispatch_classes import is_dispatching
from ..warning import warn
from . import state


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return state.ANOMALY


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN."""
    return state.CHECK_NAN


class _Companion:
    """The context manager that is entered together with anomaly mode, so that errors can be explained."""

    offered: Callable[[], AbstractContextManager[None]] | None = None
    running: AbstractContextManager[None] | None = None


def set_companion(offer: Callable[[], AbstractContextManager[None]]) -> None:
    """Say what is to be entered when anomaly mode is switched on, and left when it is switched off."""
    _Companion.offered = offer


def _set(mode: bool, check_nan: bool) -> None:
    if mode is not state.ANOMALY:
        state.enter_mode() if mode else state.leave_mode()
        running, _Companion.running = _Companion.running, None
        if running is not None:
            running.__exit__(None, None, None)
        elif mode and _Companion.offered is not None:
            _Companion.running = _Companion.offered()
            _Companion.running.__enter__()
    state.ANOMALY = mode
    state.CHECK_NAN = check_nan


class detect_anomaly:  # noqa: N801 - torch's name
    """Context manager: errors in backward come with the forward traceback of their node, NaN is an error."""

    __module__ = "retrograd.autograd.anomaly_mode"

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._before: list[tuple[bool, bool]] = []
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging."
        )

    def __enter__(self) -> None:
        self._before.append((state.ANOMALY, state.CHECK_NAN))
        _set(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _set(*self._before.pop())


class set_detect_anomaly:  # noqa: N801
    """Switch anomaly mode; acts at once, as a context manager restores what was before.

    ``TypeError`` for a non-bool.
    """

    __module__ = "retrograd.autograd.anomaly_mode"

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        check_bool("set_anomaly_enabled", "enabled", mode, 1)
        check_bool("set_anomaly_enabled", "check_nan", check_nan, 2)
        self._before = (state.ANOMALY, state.CHECK_NAN)
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _set(*self._before)


def _has_nan(value: Any) -> bool:
    if is_dispatching(value):
        return bool(value.isnan().any())
    array = value._array if isinstance(value, TensorBase) else np.asarray(value)
    return array.dtype.kind in "fc" and bool(np.isnan(array).any())


def check_for_nan(node: GraphNode, results: tuple[Any, ...]) -> None:
    """Under anomaly mode, refuse a NaN among a node's results."""
    if not (state.ANOMALY and state.CHECK_NAN):
        return
    for i, value in enumerate(results):
        if value is None:
            continue
        if _has_nan(value):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def explain_failure(node: GraphNode) -> None:
    """Under anomaly mode, warn with the forward traceback of the node that failed, and of those that induced it."""
    if not state.ANOMALY:
        return
    metadata = node._extra.metadata if node._extra is not None and node._extra.metadata else {}
    trace = metadata.get("traceback_")
    if not trace:
        _tell(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information."
        )
        return
    _tell(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(trace)}")
    for text in _ancestors(metadata.get("parent_")):
        _tell(text)


def _tell(text: str) -> None:
    """Warn; where warnings are errors, write it to stderr, so that the error that it explains comes out."""
    try:
        warn(text)
    except Warning as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)


def _ancestors(parent: Any) -> Iterator[str]:
    """One text for each node during whose backward the next one was made."""
    while parent is not None:
        trace = parent.metadata.get("traceback_")
        if not trace:
            yield (
                f"\n\nPrevious calculation was induced by {parent.name()}. No forward pass information available. "
                "Enable detect anomaly during forward pass for more information."
            )
            return
        yield (
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the "
            f"previous calculation:\n{''.join(trace)}"
        )
        parent = parent.metadata.get("parent_")
