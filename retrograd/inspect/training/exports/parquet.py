"""Parquet, by pyarrow: a row for each statistic of each stretch, with minimum, median and maximum."""

from __future__ import annotations

import io
import json

import numpy as np

from ...histories.watched_file import WatchedRun
from ...writing import write_output


class ParquetExport:
    """Writes one file; what happened and how it was watched are in its metadata, as JSON."""

    name = "parquet"
    suffixes = (".parquet",)

    def write(self, run: WatchedRun, path: str) -> None:
        """Write the table, a row group for each statistic of each parameter."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        said = {"about": json.dumps(run.about), "happened": json.dumps(run.happened)}
        words, number = pa.dictionary(pa.int32(), pa.string()), pa.float32()
        fields = [("first", pa.int64()), ("last", pa.int64()), ("figure", words), ("owner", words)]
        schema = pa.schema([*fields, ("least", number), ("median", number), ("greatest", number)], said)
        curves, written = run.curves, io.BytesIO()
        with pq.ParquetWriter(written, schema) as writer:
            for place, column in enumerate(curves.columns):
                known = ~np.isnan(curves.median[:, place])
                figures = [values[known, place] for values in (curves.least, curves.median, curves.greatest)]
                first = np.zeros(int(known.sum()), np.int32)
                named = [pa.DictionaryArray.from_arrays(first, [name]) for name in column]
                writer.write_table(pa.table([curves.first[known], curves.last[known], *named, *figures], schema=schema))
        write_output(written.getvalue(), path)


EXPORT = ParquetExport()
