"""TensorBoard event files, by its own library: a scalar for each statistic, histograms of norms over parameters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from ....errors import OutputError
from ...histories.watched_file import WatchedRun
from . import norms, rows

_BUCKETS = 30


class TensorboardExport:
    """Writes a folder for ``tensorboard --logdir``."""

    name = "tensorboard"
    suffixes = ()

    def write(self, run: WatchedRun, path: str) -> None:
        """Write one event file; older steps, of which only stretches are known, have least and greatest beside them."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        began = datetime.fromisoformat(run.about["began"]).timestamp()
        try:
            writer = EventFileWriter(path)
            for row in rows(run):
                figures = dict(row.median)
                if row.last > row.first:
                    figures |= {f"{name} (least)": value for name, value in row.least.items()}
                    figures |= {f"{name} (greatest)": value for name, value in row.greatest.items()}
                values = [Summary.Value(tag=name, simple_value=value) for name, value in figures.items()]
                for figure in ("gradient", "weight", "update"):
                    found = norms(row, figure)
                    if found:
                        values.append(Summary.Value(tag=f"all parameters/{figure}", histo=_histogram(found)))
                writer.add_event(Event(wall_time=began + row.seconds, step=row.last, summary=Summary(value=values)))
            writer.close()
        except OSError as error:
            raise OutputError(
                f"Could not write {path!r}: {error.strerror}.", "Name a folder that can be made."
            ) from error


def _histogram(values: Sequence[float]) -> Any:
    """Return a histogram as TensorBoard keeps it: upper bounds of buckets, and how many values are in each."""
    from tensorboard.compat.proto.summary_pb2 import HistogramProto

    array = np.asarray(values, np.float64)
    counts, bounds = np.histogram(array, bins=_BUCKETS)
    return HistogramProto(
        min=array.min(),
        max=array.max(),
        num=array.size,
        sum=array.sum(),
        sum_squares=np.square(array).sum(),
        bucket_limit=bounds[1:].tolist(),
        bucket=counts.tolist(),
    )


EXPORT = TensorboardExport()
