"""``Finding``: one thing that went wrong, or will, in a recorded program."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Literal

from .columns import Plain
from .fixes import Fix
from .places import full_place

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Most severe first."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a picture that a finding is about."""

    snapshot: int
    node: int
    text: str = ""
    ghost: str = ""
    """Label of a dashed edge to draw from this node to something that is not in the graph (``cut by detach``)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What happened, in one sentence with names and line, and what to write instead."""

    kind: str
    """One of the kinds of ``diagnose``: ``"broken-chain"``, ``"inplace-modified"``, …"""
    message: str
    remedy: str = ""
    severity: Severity = "error"
    file: str = ""
    line: int = 0
    op: str = ""
    nodes: tuple[str, ...] = ()
    """Ids (``n3``) in the graph of ``marks``."""
    marks: tuple[Mark, ...] = ()
    evidence: dict[str, Plain] = field(default_factory=dict, hash=False)
    """Values, names and the path that show it, as JSON values."""
    fixes: tuple[Fix, ...] = ()
    """Changes of the program that mend it, best first."""
    process: str = ""
    """Which of the processes that the program started it is about."""

    @property
    def told(self) -> str:
        """What is said of it where nothing else says which process it is about."""
        return f"{self.process}: {self.message}" if self.process else self.message

    @property
    def fix(self) -> Fix | None:
        """The change to propose: one that was tried and works, else the best one that needs no trial."""
        tried = [one for one in self.fixes if one.verdict == "verified"]
        sound = [one for one in self.fixes if not one.tentative and one.verdict in ("", "not verified")]
        return next(iter([*tried, *sound]), None)

    def _repr_mimebundle_(self, include: Plain = None, exclude: Plain = None) -> dict[str, str]:
        """Show the finding in a notebook: severity and kind, the sentence, the remedy, the line."""
        where = full_place(self.file, self.line) if self.file else ""
        head = f"{self.severity}: {self.kind}"
        plain = "\n".join(part for part in (f"{head} {where}".strip(), self.message, self.remedy) if part)
        parts = [f"<b>{escape(head)}</b> <code>{escape(where)}</code>", escape(self.message)]
        if self.remedy:
            parts.append(f'<pre style="margin:4px 0">{escape(self.remedy)}</pre>')
        html = f'<div style="border-left:4px solid #d55e00;padding:2px 10px">{"<br>".join(parts)}</div>'
        return {"text/plain": plain, "text/html": html}

    def to_plain(self) -> dict[str, Plain]:
        """Return the finding as JSON values."""
        return {
            "kind": self.kind,
            "severity": self.severity,
            "message": self.message,
            "remedy": self.remedy,
            "file": self.file,
            "line": self.line,
            "op": self.op,
            "nodes": list(self.nodes),
            "marks": [{"snapshot": m.snapshot, "node": m.node, "text": m.text, "ghost": m.ghost} for m in self.marks],
            "evidence": self.evidence,
            **({"process": self.process} if self.process else {}),
            "edit": None if self.fix is None else self.fix.to_plain(),
        }


class Findings(list[Finding]):
    """What a diagnosis found, causes first: a list that shows itself in a notebook."""

    def __str__(self) -> str:
        return "\n\n".join(one._repr_mimebundle_()["text/plain"] for one in self) or NO_FINDINGS

    def _repr_html_(self) -> str:
        """Show all findings in a notebook, or that there are none."""
        return (
            '<div style="height:8px"></div>'.join(one._repr_mimebundle_()["text/html"] for one in self) or NO_FINDINGS
        )

    def _repr_pretty_(self, printer: Plain, cycle: bool) -> None:
        """Show them as text in IPython, which has a way of its own to show lists."""
        printer.text(str(self))


NO_FINDINGS = "No findings."


@dataclass(frozen=True, slots=True)
class Dropped:
    """A finding that is not reported."""

    finding: Finding
    reason: str
    """Which other finding explains it, or what speaks against it."""
