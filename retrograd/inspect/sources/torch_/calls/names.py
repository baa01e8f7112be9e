"""Matches the spelling of a call in its source line with its input and output tensors."""

from __future__ import annotations

from ....operators import canonical
from ....program.frames import read_locals
from ....program.spelling import Spelling, is_number
from .calls import Call


def spelled(call: Call, spelling: Spelling) -> list[str]:
    """Return the source text of each input of a call, "" where the line does not show it."""
    operands = _operands(call, spelling)
    return [_text(spelling, operands, *place) for place in call.places]


def _operands(call: Call, spelling: Spelling) -> tuple[str, ...]:
    """Return the texts of the positional arguments."""
    operands = spelling.operands
    if spelling.form == "BinOp" and _is_swapped(call, spelling):
        return operands[::-1]
    if spelling.turns(call.rule.op):
        return operands[::-1]
    count = len(call.args)
    if spelling.receiver and (call.rule.method or count == len(operands) + 1) and count != len(operands):
        return (spelling.receiver, *operands)
    return operands


def depends_on_values(call: Call, spelling: Spelling) -> bool:
    """Whether only the variables of the user's frame determine which text belongs to which argument."""
    return (
        spelling.form == "BinOp"
        and call.rule.op in ("mul", "add")
        and len(call.places) == 1
        and len(spelling.operands) == 2
        and not any(map(_is_number, spelling.operands))
        and spelling.operands[0].isidentifier()
        and call.frame is not None
    )


def _is_swapped(call: Call, spelling: Spelling) -> bool:
    """Whether ``lr * g`` was passed on as ``g * lr``, which the arguments alone do not show."""
    if depends_on_values(call, spelling):
        frame, left = call.frame, spelling.operands[0]
        assert frame is not None
        value = frame.f_globals.get(left) if left in frame.f_globals else read_locals(frame).get(left)
        return bool(call.args) and value is not call.args[0]
    if call.rule.op not in ("mul", "add") or len(call.places) != 1 or len(spelling.operands) != 2:
        return False
    return _is_number(spelling.operands[0]) or is_number(call.frame, spelling.operands[0])


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or text[:1] in "-."


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


def assigned(spelling: Spelling, count: int) -> list[str]:
    """Return the target of each of so many outputs, "" if the line does not assign it directly."""
    targets = spelling.targets
    if len(targets) == count:
        return list(targets)
    if len(targets) == 1 and count > 1:
        return [_entry(targets[0], place) for place in range(count)]
    return [""] * count


def forms_match(op: str, form: str) -> bool:
    """Whether a call of a function with that name may be this operator."""
    return bool(form) and canonical(form) == op
