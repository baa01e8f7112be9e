"""Fits how a line spells a call to the tensors that went in and came out."""

from __future__ import annotations

from typing import Any

from ..spelling import Spelling
from .torch_calls import Call
from .torch_rules import SWAPPED


def spelled(call: Call, spelling: Spelling) -> list[str]:
    """Return the text of each input of a call, "" where the line does not tell."""
    operands = _operands(call, spelling)
    return [_text(spelling, operands, *place) for place in call.places]


def _operands(call: Call, spelling: Spelling) -> tuple[str, ...]:
    """Return the texts of the positional arguments."""
    operands = spelling.operands
    if spelling.form == "BinOp" and call.rule.op in SWAPPED:
        return operands[::-1]
    count = len(call.args)
    if spelling.receiver and (call.rule.method or count == len(operands) + 1) and count != len(operands):
        return (spelling.receiver, *operands)
    return operands


def _text(spelling: Spelling, operands: tuple[str, ...], where: int | str, place: int) -> str:
    """Return the text of one input: at a position or keyword, perhaps an entry of a list there."""
    if isinstance(where, str):
        text = spelling.keywords.get(where, "")
        return text if place < 0 else _entry(text, place)
    if where >= len(operands):
        return ""
    if place < 0:
        return operands[where]
    shift = len(operands) - len(spelling.operands)
    parts = spelling.parts.get(where - shift)
    if parts is not None:
        return parts[place] if place < len(parts) else ""
    return _entry(operands[where], place)


def _entry(text: str, place: int) -> str:
    """Return the text of an entry of a list that is a variable."""
    return f"{text}[{place}]" if text.isidentifier() else ""


def assigned(call: Call, spelling: Spelling, outputs: list[Any]) -> list[str]:
    """Return what the line assigns each output to, "" where it does not do so at once."""
    targets = spelling.targets
    if len(outputs) == len(targets):
        return list(targets)
    if len(targets) == 1 and len(outputs) > 1:
        return [_entry(targets[0], place) for place in range(len(outputs))]
    return [""] * len(outputs)


def forms_match(op: str, form: str) -> bool:
    """Whether a call of a function of that name may well be this operation."""
    return bool(form) and form.strip("_") == op.strip("_")
