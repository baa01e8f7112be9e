"""Formats sums of events as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_HEADS = ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")


def table(events: Sequence[Any], total: float, header: str | None, name_width: int) -> str:
    """One line for each event, with its share of ``total`` microseconds, and the total below."""
    shaped = any(event.input_shapes for event in events)
    heads = [*_HEADS, "Input Shapes"] if shaped else [*_HEADS]
    rows = [_row(event, total, name_width, shaped) for event in events]
    widths = [max(len(line[i]) for line in (heads, *rows)) for i in range(len(heads))]
    rule = "  ".join("-" * width for width in widths)
    lines = ["  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) for row in (heads, *rows)]
    title = [] if header is None else [rule, header]
    return "\n".join([*title, rule, lines[0], rule, *lines[1:], rule, f"Self CPU time total: {duration(total)}", ""])


def _row(event: Any, total: float, name_width: int, shaped: bool) -> list[str]:
    name = event.key if len(event.key) <= name_width else event.key[: name_width - 3] + "..."
    row = [
        name, _share(event.self_cpu_time_total, total), duration(event.self_cpu_time_total),
        _share(event.cpu_time_total, total), duration(event.cpu_time_total), duration(event.cpu_time), str(event.count),
    ]  # fmt: skip
    return [*row, str(event.input_shapes)] if shaped else row


def _share(part: float, total: float) -> str:
    return f"{100 * part / total:.2f}%" if total else "0.00%"


def duration(microseconds: float) -> str:
    """A time with its unit."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"
