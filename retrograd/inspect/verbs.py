"""Methods that graphs and recordings share: ``findings``, ``stats``, ``save`` and ``show``.

The data classes import neither rules nor renderers. This is the only place from which they reach them, on first use.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .findings import Finding
    from .notebook import Page
    from .recording.stats import Statistics


class Verbs:
    """``findings``, ``stats``, ``save`` and ``show`` of a ``Graph`` or a ``Recording``."""

    __slots__ = ()

    @property
    def findings(self) -> list[Finding]:
        """The findings of a diagnosis, causes first, computed at each access; level ``"full"`` gives the most."""
        found: list[Finding] = _of("diagnosis").diagnose(self._recording)
        return found

    def stats(self, rows: int | None = 10) -> Statistics:
        """Return the statistics of the graph, or of a recording's last one, with at most ``rows`` rows in each table.

        Raises ``NoGraphError`` if there is no graph::

            print(rg.walk(loss).stats().saved_bytes)
        """
        found: list[Statistics] = _of("render.stats_tables").chosen_statistics(self._recording, _options({}), rows)
        return found[-1]

    def save(self, path: str | os.PathLike[str], fmt: str | None = None, **options: Any) -> None:
        """Write the graph, or a recording's last one, to a file in the format of its suffix, or ``fmt``.

        ``options`` are those of ``RenderOptions``: ``step="all"`` draws all graphs of a recording. Raises
        ``UnknownFormatError``, ``UsageError``, ``NoGraphError``, ``LayoutError`` or ``OutputError``; then nothing has
        been written::

            rg.walk(loss, model).save("graph.svg")
        """
        _of("output").save(self._recording, path, fmt, _options(options))

    def show(self, **options: Any) -> None:
        """Print the graph, or a recording's last one, as a tree with its findings, in colour on a terminal.

        ``options`` are those of ``RenderOptions``.
        """
        _of("render.formats.tree").print_tree(*_of("output").drawn(self._recording, _options(options)))

    def page(self, *, height: int = 640, **options: Any) -> Page:
        """Return the interactive page for a notebook cell, in a frame of its own, ``height`` pixels high.

        ``options`` are those of ``RenderOptions``. Raises what ``save`` raises.
        """
        found: Page = _of("notebook").page(self._recording, height, _options(options))
        return found

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Show the graph in a notebook: as a drawing, and as a tree where only text is shown."""
        bundle: dict[str, str] = _of("notebook").recording_bundle(self._recording, repr(self))
        return bundle

    @property
    def _recording(self) -> Any:
        return _of("output").recording_of(self)


class Tables:
    """``Statistics`` as text: tables, also in a notebook."""

    def __str__(self) -> str:
        text: str = _of("render.stats_tables").stats_text([self])
        return text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Show the tables in a notebook."""
        return {"text/plain": str(self)}


def _options(chosen: dict[str, Any]) -> Any:
    """Return the options of a drawing; raises ``TypeError`` for an unknown one."""
    return _of("render").RenderOptions(**chosen)


def _of(module: str) -> Any:
    """Import a module of the inspector and return it."""
    return importlib.import_module(f"{__package__}.{module}")
