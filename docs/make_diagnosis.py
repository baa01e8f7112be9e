"""Writes the table of kinds in docs/diagnosis.md from the checks themselves."""

from __future__ import annotations

from pathlib import Path

from retrograd.inspect.diagnosis import all_checks

PAGE = Path(__file__).parent / "diagnosis.md"
BEGIN, END = "<!-- kinds: begin -->\n", "<!-- kinds: end -->\n"


def table() -> str:
    """Return the table: family, kind, severity, meaning."""
    rows = {
        (check.family, kind): f"| {check.family} | `{kind}` | {told.severity} | {told.meaning} |\n"
        for check in all_checks().values()
        for kind, told in check.kinds.items()
    }
    head = "| family | kind | severity | what it means |\n|---|---|---|---|\n"
    return head + "".join(row for _, row in sorted(rows.items()))


def page(text: str) -> str:
    """Return the page with its table as it is to be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"diagnosis.md: {table().count(chr(10)) - 2} kinds")
