"""``LiveTable``: the newest steps at the bottom of the terminal; the program's output scrolls above it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ..histories.history import Array, Curves
from ..render.labels import clean, time_text
from ..render.run_tables import number, sparkline

_EVERY = 0.25
"""Seconds between two drawings."""
_STEPS = 200
"""Newest steps of which curves are drawn."""
_LINES = 5
_LEAST_HEIGHT = 12
"""Lines of a terminal below which nothing is drawn."""
_NOWHERE = os.terminal_size((0, 0))
_SAVE, _RESTORE, _DOWN, _EMPTY = "\x1b7", "\x1b8", "\x1bD", "\x1b[2K"


class Shown(Protocol):
    """A run, as far as the table shows it."""

    about: dict[str, Any]
    happened: list[dict[str, Any]]

    @property
    def step(self) -> int:
        """The number of the current step."""

    def newest(self, count: int) -> Curves:
        """Return the statistics of the last steps."""


class LiveTable:
    """Draws on the terminal if stderr is one, else does nothing.

    The lines above the table become the region that scrolls, as package managers do it, so neither the program's
    streams nor what it writes are touched.
    """

    def __init__(self) -> None:
        self._terminal = _terminal()
        self._size = _NOWHERE
        """Of the terminal when the region was set."""
        self._drawn = 0.0

    def show(self, run: Shown) -> None:
        """Draw the newest steps, a few times a second."""
        now = time.monotonic()
        if self._terminal is None or now - self._drawn < _EVERY:
            return
        self._drawn = now
        size = os.get_terminal_size(self._terminal)
        if size.lines < _LEAST_HEIGHT:
            return
        room = ""
        if size != self._size:
            room = f"{_DOWN * _LINES}\x1b[{_LINES}A{_SAVE}\x1b[1;{size.lines - _LINES}r{_RESTORE}"
            self._size = size
        lines = [line[: size.columns - 1] for line in _lines(run)]
        self._write(f"{room}{_SAVE}{self._at_the_bottom(lines)}{_RESTORE}")

    def close(self) -> None:
        """Restore the terminal."""
        if self._size is not _NOWHERE:
            self._write(f"{_SAVE}\x1b[r{self._at_the_bottom([''] * _LINES)}{_RESTORE}")
        self.forget()

    def forget(self) -> None:
        """Stop drawing in this process: another one draws on the terminal."""
        self._size, self._terminal = _NOWHERE, None

    def _at_the_bottom(self, lines: list[str]) -> str:
        first = self._size.lines - _LINES + 1
        return "".join(f"\x1b[{first + place};1H{_EMPTY}{line}" for place, line in enumerate(lines))

    def _write(self, text: str) -> None:
        """Write directly to the descriptor; a closed terminal is ignored."""
        if self._terminal is None:
            return
        try:
            os.write(self._terminal, text.encode(errors="replace"))
        except OSError:
            self.forget()


def _terminal() -> int | None:
    """Return the descriptor of the terminal that stderr is."""
    stream = sys.__stderr__
    try:
        found = None if stream is None else stream.fileno()
    except (OSError, ValueError):
        return None
    return found if found is not None and os.isatty(found) and os.environ.get("TERM") != "dumb" else None


def _lines(run: Shown) -> Iterator[str]:
    """Yield the lines of the table: the current step, three curves, and the latest event."""
    curves = run.newest(_STEPS)
    known = curves.of("seconds")[~np.isnan(curves.of("seconds"))]
    pace = f" · {time_text(float(np.median(known)) * 1e6)} a step" if len(known) else ""
    yield f"── {clean(str(run.about.get('script') or 'watched run'))} · step {run.step:,}{pace} "
    yield _curve("loss", curves.of("loss"))
    yield _curve("gradient", _total(curves, "gradient"), log=True)
    with np.errstate(all="ignore"):
        yield _curve("update ratio", _total(curves, "update") / _total(curves, "weight"), log=True)
    happened = run.happened[-1] if run.happened else None
    yield "" if happened is None else f"step {happened['step']:,}: {clean(str(happened['text']))}"


def _curve(name: str, values: Array, *, log: bool = False) -> str:
    known = values[~np.isnan(values)]
    return f"{name:<13} {number(float(known[-1])) if len(known) else '':>9} {sparkline(values, log=log)}"


def _total(curves: Curves, figure: str) -> Array:
    """Return the norm of all parameters together, for each step."""
    places = [place for place, column in enumerate(curves.columns) if column.figure == figure]
    values = curves.median[:, places]
    return np.asarray(np.where(np.isnan(values).all(1), np.nan, np.sqrt(np.nansum(values**2, axis=1))))
