"""``torch.utils.benchmark``: statements timed often enough, and tables of what they took."""

from __future__ import annotations

import dataclasses
import math
import statistics
import sys
import timeit
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_UNITS = ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s"))
_CONFIDENCE = 0.645
"""Standard deviations to the middle of a quarter: what the range of quarters says of rounding."""
timer = timeit.default_timer


def select_unit(seconds: float) -> tuple[str, float]:
    """The unit in which a time is shown, and its length in seconds."""
    fitting = [(unit, length) for length, unit in _UNITS if seconds >= length]
    return fitting[-1] if fitting else ("ns", 1e-9)


def trim_sigfig(x: float, n: int) -> float:
    """``x`` rounded to ``n`` significant statistics."""
    return float(f"{x:.{max(n, 1) - 1}e}")


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """What was timed."""

    stmt: str
    setup: str
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return "stmt:\n" + "\n".join(f"  {line}" for line in self.stmt.splitlines()) if "\n" in self.stmt else self.stmt


class Measurement:
    """Times of one statement, in seconds."""

    def __init__(
        self, number_per_run: int, raw_times: list[float], task_spec: TaskSpec, metadata: dict[Any, Any] | None = None
    ) -> None:
        self.number_per_run, self.raw_times = number_per_run, raw_times
        self.task_spec, self.metadata = task_spec, metadata

    def __getattr__(self, name: str) -> Any:
        """What the task says of itself: ``label``, ``stmt``, ..."""
        if name.startswith("__") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Seconds for one execution, of each run."""
        return [raw / self.number_per_run for raw in self.raw_times]

    @property
    def median(self) -> float:
        """Their median."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """Their mean."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The range of the middle half."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many statistics of the median the spread leaves certain."""
        spread = max(self.iqr / 2, sys.float_info.epsilon)
        spread = max(spread * _CONFIDENCE / math.sqrt(len(self.times)), self.median / 100) / self.median
        return max(1, min(2, round(-math.log10(spread))))

    @property
    def has_warnings(self) -> bool:
        """Whether the spread is too large for the median to be relied on."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the middle half lies within a share of the median."""
        return self.iqr / self.median < threshold

    @property
    def as_row_name(self) -> str:
        """What its row in a table is called."""
        spec = self.task_spec
        return spec.sub_label or spec.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same task as one."""
        tasks: dict[TaskSpec, list[Measurement]] = {}
        for each in measurements:
            tasks.setdefault(each.task_spec, []).append(each)
        return [Measurement(1, [t for each in same for t in each.times], task) for task, same in tasks.items()]

    def __repr__(self) -> str:
        unit, length = select_unit(self.median)
        lines = [super().__repr__(), self.task_spec.title]
        lines += [self.task_spec.description] if self.task_spec.description else []
        lines += [f"setup: {self.task_spec.setup}"] if self.task_spec.setup not in ("", "pass") else []
        count = len(self.times)
        if count > 1:
            lines += [f"  Median: {self.median / length:.2f} {unit}", f"  IQR:    {self.iqr / length:.2f} {unit}"]
        else:
            lines.append(f"  {self.median / length:.2f} {unit}")
        runs, threads = self.number_per_run, self.task_spec.num_threads
        lines.append(
            f"  {count} measurement{'s'[: count > 1]}, {runs} run{'s'[: runs > 1]} "
            f"{'per measurement' if count > 1 else ''}, {threads} thread{'s'[: threads > 1]}"
        )
        return "\n".join(lines)


class Timer:
    """Times a statement; ``torch`` is among its names."""

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,  # noqa: A002
        description: str | None = None, env: str | None = None, num_threads: int = 1, language: Any = "python",
    ) -> None:  # fmt: skip
        if str(language) not in ("python", "py"):
            raise ValueError(f"statements in {language} cannot be timed: there is no compiler, write them in Python")
        names = {"torch": sys.modules[__name__.partition(".")[0]], **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task = TaskSpec(stmt, setup, label, sub_label, description, env, num_threads)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """The time of ``number`` executions, after some that do not count."""
        self._timer.timeit(max(number // 100, 2))
        return Measurement(number, [self._timer.timeit(number)], self._task)

    def _block(self, seconds: float) -> int:
        """How many executions make a block that the clock measures well."""
        count = 1
        while True:
            taken = self._timer.timeit(count)
            if taken >= min(seconds / 10, 1e-3) or count >= 10**9:
                return count
            count *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Blocks of executions until they have taken ``min_run_time`` together."""
        number = self._block(min_run_time)
        times: list[float] = []
        while not times or sum(times) < min_run_time:
            times.append(self._timer.timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:  # fmt: skip
        """Blocks until their spread is below ``threshold``, or ``max_run_time`` is over."""
        number = self._block(0.05)
        times: list[float] = []
        while sum(times) < max_run_time:
            times.append(self._timer.timeit(number))
            if callback is not None:
                callback(number, times[-1])
            found = Measurement(number, times, self._task)
            if len(times) > 3 and sum(times) > min_run_time and found.meets_confidence(threshold):
                break
        return Measurement(number, times, self._task)


class Compare:
    """Measurements as tables: one for each label, with a column for each description."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False

    def extend_results(self, results: list[Measurement]) -> None:
        """Further measurements."""
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(each)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show the certain statistics only."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Without effect: the table is text."""

    def highlight_warnings(self) -> None:
        """Without effect: the table is text."""

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        tables: dict[str, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            tables.setdefault(each.task_spec.label or "[Unknown]", []).append(each)
        return "\n".join(line for label, each in tables.items() for line in (*self._table(label, each), ""))

    def _table(self, label: str, results: list[Measurement]) -> Iterator[str]:
        """The lines of one table; measurements with as many threads stand together."""
        unit, length = select_unit(min(each.median for each in results))
        columns = list(dict.fromkeys(each.task_spec.description or each.task_spec.env or "" for each in results))
        rows: dict[tuple[int, str], dict[str, str]] = {}
        for each in sorted(results, key=lambda each: each.task_spec.num_threads):
            shown = trim_sigfig(each.median / length, each.significant_figures) if self._trim else each.median / length
            row = rows.setdefault((each.task_spec.num_threads, each.as_row_name), {})
            row[each.task_spec.description or each.task_spec.env or ""] = f"{shown:.{0 if shown >= 100 else 1}f}"
        first = max(len(name) for _, name in rows) + 6
        widths = [max(len(c), *(len(row.get(c, "")) for row in rows.values())) + 2 for c in columns]
        total = first + sum(widths) + 3 * len(columns)
        yield f"[{f' {label} ':-^{total - 2}}]"
        yield " " * first + "".join(f" |{c:>{width}}" for c, width in zip(columns, widths, strict=True))
        threads = 0
        for (count, name), row in rows.items():
            if count != threads:
                threads = count
                yield f"{count} threads: ".ljust(total, "-")
            yield f"      {name}".ljust(first) + "".join(
                f" |{row.get(c, ''):>{width}}" for c, width in zip(columns, widths, strict=True)
            )
        yield ""
        yield f"Times are in {_LONG[unit]} ({unit})."


_LONG = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}
__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig"]
