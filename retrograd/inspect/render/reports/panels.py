"""Findings as panels for a terminal: the sentence, the user's line with carets, and the fix."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from ...findings import Finding
from ...fixes import Fix
from ...operators import canonical
from ...program.places import cell_place, path_below
from ...program.syntax import parsed
from ..console_page import page_text, print_page
from .base import Outcome, printable

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.text import Text

_STYLES = {"error": "red", "warning": "yellow", "note": "cyan"}
_WIDTH = 110
"""Widest panel that reads well."""


class PanelReport:
    """Writes panels as plain text; ``print_findings`` prints them in colour."""

    name = "text"
    suffixes = (".txt",)

    def write(self, outcome: Outcome) -> str:
        """Return the findings as plain text."""
        return page_text(_parts(outcome), width=_WIDTH)


REPORT = PanelReport()


def print_findings(outcome: Outcome, file: IO[str] | None = None) -> None:
    """Print the findings to ``file`` (standard output), in colour on a terminal unless ``NO_COLOR`` is set."""
    print_page(_parts(outcome), file)


def _parts(outcome: Outcome) -> Iterator[Panel | Text]:
    """Yield a panel for each finding, and a summary."""
    from rich.text import Text

    process = ""
    for finding in outcome.findings:
        if finding.process != process:
            process = finding.process
            yield Text(f"retrograd: {printable(process)}:", style="bold")
        yield _panel(finding, outcome.line_text(finding), explain=outcome.explain)
    for dropped in outcome.dropped if outcome.explain else ():
        one = dropped.finding
        yield Text(f"not reported: {one.kind}, {_printable_place(one)}: {dropped.reason}", style="dim")
    count = len(outcome.findings)
    if steps := outcome.recording.summarized():
        yield Text(
            f"retrograd: {steps:,} steps that resembled others were kept only as statistics; findings count the steps "
            "kept in full (--keep all keeps every step)",
            style="dim",
        )
    for sentence in outcome.unseen:
        yield Text(f"retrograd: {printable(sentence)}", style="yellow")
    if count or not outcome.unseen:
        words = f"{count} finding{'s' * (count != 1)}" if count else "no findings"
        yield Text(f"retrograd: {words}", style="bold" if count else "green")
    elif outcome.trained:
        yield Text("retrograd: nothing was found in the rest", style="green")


def _panel(finding: Finding, line: str, *, explain: bool = False) -> Panel:
    """Return one finding in a frame; names are in ``Text``, so that markup in them is not interpreted."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    style = _STYLES[finding.severity]
    parts = [Text(printable(finding.message))]
    if finding.file:
        parts += [Text(""), Text(_printable_place(finding), style="dim")]
    if line.strip():
        parts += _quoted(line, finding)
    if finding.remedy:
        parts += [Text(""), Text("fix: ", style="bold green") + Text(printable(finding.remedy))]
    if finding.fix is not None:
        parts += _change(finding.fix)
    if explain and finding.evidence:
        parts += [Text(""), Text("evidence:", style="bold"), *(Text(printable(one)) for one in _evidence(finding))]
    title = Text(f" {finding.severity}: {finding.kind} ", style=f"bold {style}")
    return Panel(Group(*parts), title=title, title_align="left", border_style=style, width=_WIDTH)


def _evidence(finding: Finding) -> Iterator[str]:
    """Yield the lines of a finding's evidence: what speaks for it, what against it, then its values."""
    for key, head in (("because", "for"), ("against", "against")):
        yield from (f"  {head}: {one}" for one in finding.evidence.get(key, ()))
    yield from (f"  {key}: {value}" for key, value in finding.evidence.items() if key not in ("because", "against"))


def _printable_place(finding: Finding) -> str:
    """Return file and line of a finding, or the notebook's cell."""
    if not finding.file:
        return "no line"
    where = cell_place(finding.file, finding.line) or f"{path_below(finding.file) or finding.file}:{finding.line}"
    return printable(where)


def _change(fix: Fix) -> list[Text]:
    """Return a proposed change: whether it was tried, and the lines as they are and as they would be."""
    from rich.text import Text

    head = f"change ({fix.trial}): "
    parts = [Text(""), Text(head, style="bold green") + Text(printable(fix.sentence))]
    for change in fix.changes:
        numbered = [(change.first + place, "-", line) for place, line in enumerate(change.before)]
        numbered += [(change.first, "+", line) for line in change.after]
        for number, sign, line in numbered:
            style = "red" if sign == "-" else "green"
            shown = Text(f"{number if sign == '-' else '':>4} {sign} ", style="dim") + Text(
                printable(line), style=style
            )
            shown.no_wrap, shown.overflow = True, "ellipsis"
            parts.append(shown)
    return parts


def _quoted(line: str, finding: Finding) -> list[Text]:
    """Return the user's line and carets below the operator concerned."""
    from rich.text import Text

    shown = printable(line.strip())
    start, length = caret(shown, finding.op)
    number = f"{finding.line} | "
    source = Text(number, style="dim") + Text(shown)
    source.no_wrap, source.overflow = True, "ellipsis"
    style = _STYLES[finding.severity]
    return [source, Text(" " * (len(number) + start) + "^" * length, style=style, no_wrap=True, overflow="crop")]


def caret(line: str, op: str) -> tuple[int, int]:
    """Return the position of an operator's call in a line without indentation (column, length); else the whole line."""
    own = canonical(op)
    for part in _expressions(line):
        if isinstance(part, ast.Call) and canonical(ast.unparse(part.func)) == own:
            raw = line.encode()
            start = len(raw[: part.col_offset].decode(errors="replace"))
            end = len(raw[: part.end_col_offset].decode(errors="replace"))
            return start, max(end - start, 1)
    code = line.split("  #")[0].rstrip()
    return 0, max(len(code), 1)


def _expressions(line: str) -> list[ast.expr]:
    """Return the expressions in a line, or nothing for a line that is only a part of a statement."""
    for attempt in (line, f"{line}\n    pass"):
        tree = parsed(attempt)
        if tree is not None:
            return [part for part in ast.walk(tree) if isinstance(part, ast.expr)]
    return []
