"""A callback for Lightning: ``Trainer(callbacks=[Watch(file="run.html")])``."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback

from ..run import watch


class Watch(Callback):
    """Watches ``fit``; takes the arguments of ``rg.watch``. Evaluations and epoch statistics are marked."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self.run: watch | None = None
        """The current run, or the last one."""

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin to watch."""
        self.run = watch(pl_module, **self._settings)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Mark an evaluation; what is tried before the training is none."""
        if self.run is not None and not trainer.sanity_checking:
            self.run.note("validation")

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Keep the statistics that the program has logged."""
        if self.run is not None:
            self.run.note("epoch ended", **{name: float(value) for name, value in trainer.callback_metrics.items()})

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Note what ended the training."""
        if self.run is not None:
            self.run.failed(exception)
            self.run.close()

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Write the run."""
        if self.run is not None:
            self.run.close()
