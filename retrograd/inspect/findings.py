"""``Finding``: one thing that went wrong, or will go wrong, in a recorded program."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Literal

from .fixes import Fix
from .graphs.columns import Plain
from .program.places import full_place

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""Most severe first."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The place in a drawing where a finding is shown."""

    snapshot: int
    node: int
    text: str = ""
    ghost: str = ""
    """Label of a dashed edge from this node to something outside the graph (``cut by detach``)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong in a recorded program: its cause in one sentence, its place, and the fix.

    ``rg.inspect.diagnose`` and ``Recording.findings`` return them, causes first. ``message`` names the tensors, values
    and lines concerned, ``remedy`` is the fix in words, ``fix`` a change to the program's text; ``file`` and ``line``
    are the line to change, ``severity`` is ``"error"``, ``"warning"`` or ``"note"``.
    """

    kind: str
    """One of the kinds of ``diagnose``: ``"broken-chain"``, ``"inplace-modified"``, …"""
    message: str
    """What is wrong and why, with names, values and lines."""
    remedy: str = ""
    """What to change, in words."""
    severity: Severity = "error"
    file: str = ""
    line: int = 0
    """The line to change, from 1; 0 if unknown."""
    op: str = ""
    """The operator concerned."""
    nodes: tuple[str, ...] = ()
    """Ids of the nodes concerned (``n3``), in the graph of ``marks``."""
    marks: tuple[Mark, ...] = ()
    evidence: dict[str, Plain] = field(default_factory=dict, hash=False)
    """Values, names and the path that prove it, as JSON values."""
    fixes: tuple[Fix, ...] = ()
    """Changes to the program that correct it, best first."""
    process: str = ""
    """The process concerned, if the program started several; else empty."""

    @property
    def full_message(self) -> str:
        """The message, preceded by the name of the process if the program started several."""
        return f"{self.process}: {self.message}" if self.process else self.message

    @property
    def fix(self) -> Fix | None:
        """The change to propose: the first that was tried and works, else the first that needs no trial, else None."""
        tried = [one for one in self.fixes if one.verdict == "verified"]
        sound = [one for one in self.fixes if not one.tentative and one.verdict in ("", "not verified")]
        return next(iter([*tried, *sound]), None)

    def _repr_mimebundle_(self, include: Plain = None, exclude: Plain = None) -> dict[str, str]:
        """Show the finding in a notebook: severity and kind, message, fix, line."""
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
    """A list of findings, causes first, that displays itself in a notebook."""

    def __str__(self) -> str:
        return "\n\n".join(one._repr_mimebundle_()["text/plain"] for one in self) or NO_FINDINGS

    def _repr_html_(self) -> str:
        """Show all findings in a notebook, or that there are none."""
        return (
            '<div style="height:8px"></div>'.join(one._repr_mimebundle_()["text/html"] for one in self) or NO_FINDINGS
        )

    def _repr_pretty_(self, printer: Plain, cycle: bool) -> None:
        """Show them as text in IPython, which formats plain lists itself."""
        printer.text(str(self))


NO_FINDINGS = "No findings."


@dataclass(frozen=True, slots=True)
class Dropped:
    """A finding that is not reported, with the reason."""

    finding: Finding
    reason: str
    """The finding that explains it, or the evidence against it."""
