"""A tracker for Accelerate: ``Accelerator(log_with=[Watch("run.html")])``, then ``init_trackers`` as with any other."""

from __future__ import annotations

from typing import Any

from accelerate.tracking import GeneralTracker

from ..run import watch


class Watch(GeneralTracker):
    """Watches every optimizer from its making on; what the program logs becomes curves."""

    name = "retrograd"
    requires_logging_directory = False
    main_process_only = False

    def __init__(self, file: str, **settings: Any) -> None:
        super().__init__()
        self.run = watch(file=file, **settings)

    @property
    def tracker(self) -> watch:
        """The run."""
        return self.run

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """Keep the configuration beside the run."""
        self.run.about["configuration"] = {name: str(value) for name, value in values.items()}

    def log(self, values: dict[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Keep statistics of the current step."""
        numbers = {name: float(value) for name, value in values.items() if isinstance(value, (int, float))}
        self.run.note(f"logged at step {step}" if step is not None else "logged", **numbers)

    def finish(self) -> None:
        """Write the run."""
        self.run.close()
