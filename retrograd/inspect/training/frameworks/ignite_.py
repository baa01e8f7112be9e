"""A handler for Ignite: ``Watch(model, file="run.html").attach(trainer)``."""

from __future__ import annotations

from typing import Any

from ignite.engine import Events

from ..run import watch


class Watch:
    """Watches what an engine trains; takes what ``rg.watch`` takes."""

    def __init__(self, model: Any = None, **settings: Any) -> None:
        self._model, self._settings = model, settings
        self.run: watch | None = None
        """The current run, or the last one."""

    def attach(self, trainer: Any) -> None:
        """Watch from the beginning of a trainer's run to its end, or to its exception."""
        trainer.add_event_handler(Events.STARTED, self._begin)
        trainer.add_event_handler(Events.EPOCH_COMPLETED, self._epoch)
        trainer.add_event_handler(Events.EXCEPTION_RAISED, self._failed)
        trainer.add_event_handler(Events.COMPLETED, self._end)

    def _begin(self, _: Any) -> None:
        self.run = watch(self._model, **self._settings)

    def _epoch(self, trainer: Any) -> None:
        if self.run is not None:
            metrics = trainer.state.metrics or {}
            numbers = {name: float(value) for name, value in metrics.items() if isinstance(value, (int, float))}
            self.run.note(f"epoch {trainer.state.epoch} ended", **numbers)

    def _failed(self, trainer: Any, error: BaseException) -> None:
        if self.run is not None:
            self.run.failed(error)
            self.run.close()
        raise error

    def _end(self, _: Any) -> None:
        if self.run is not None:
            self.run.close()
