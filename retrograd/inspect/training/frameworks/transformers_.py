"""A callback for Hugging Face's ``Trainer``: ``Trainer(..., callbacks=[Watch(file="run.html")])``."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from ..run import watch


class Watch(TrainerCallback):
    """Watches ``train``; takes the arguments of ``rg.watch``. Evaluations and logged statistics are marked."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self.run: watch | None = None
        """The current run, or the last one."""

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        """Begin to watch."""
        self.run = watch(model, **self._settings)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        """Mark an evaluation, with its statistics."""
        if self.run is not None:
            self.run.note("evaluation", **_numbers(metrics or {}))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write the run."""
        if self.run is not None:
            self.run.close()


def _numbers(figures: dict[str, Any]) -> dict[str, float]:
    """Return the entries that are numbers."""
    return {name: float(value) for name, value in figures.items() if isinstance(value, (int, float))}
