"""Weights & Biases offline, by its own library: a folder that ``wandb sync`` can upload."""

from __future__ import annotations

import os

from ....errors import OutputError
from ...histories.watched_file import WatchedRun
from . import norms, rows


class WandbExport:
    """Writes a folder with one offline run; nothing is sent anywhere."""

    name = "wandb"
    suffixes = ()

    def write(self, run: WatchedRun, path: str) -> None:
        """Write the run; what triggers found is in its summary."""
        import wandb

        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"Could not write {path!r}: {error.strerror}.", "Name a folder that can be made."
            ) from error
        settings = wandb.Settings(silent=True, console="off", disable_git=True, x_disable_stats=True)
        config = {name: value for name, value in run.about.items() if isinstance(value, (str, int, float, bool))}
        name = str(run.about.get("script") or "watched run")
        logged = wandb.init(project="retrograd", name=name, dir=path, mode="offline", config=config, settings=settings)
        for row in rows(run):
            histograms = {
                f"all parameters/{figure}": wandb.Histogram(found)
                for figure in ("gradient", "weight", "update")
                if (found := norms(row, figure))
            }
            stretches = {f"{name} (greatest)": value for name, value in row.greatest.items() if row.last > row.first}
            logged.log({**row.median, **stretches, **histograms}, step=row.last)
        logged.summary["happened"] = [f"step {one['step']}: {one['text']}" for one in run.happened]
        logged.finish()


EXPORT = WandbExport()
