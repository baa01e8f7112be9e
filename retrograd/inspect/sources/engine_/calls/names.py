"""Finds the names of a call's tensors in the user's source line."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Sequence
from types import FrameType, ModuleType
from typing import Any

from ....bounded import BoundedDict
from ....operators import canonical
from ....program.spelling import Spelling, is_number, spelling_at
from ....program.stacks import StackFrame, stack_of
from ....program.syntax import parsed_expression
from ....recording.journal import Rows
from ...call_data import give_names
from ..watching import Watching
from .caller import Caller

_CASTS = ("half", "float", "double", "bfloat16", "int", "long", "short", "bool", "cfloat", "cdouble", "type")
_NO_NAMES: tuple[list[str], ...] = ([], [""], ["", ""], ["", "", ""])
_DOTTED = re.compile(r"[\w.]+$")


class Names:
    """Names for the inputs and outputs of calls, for one watcher."""

    def __init__(self, watching: Watching) -> None:
        self._watching = watching
        self._texts: BoundedDict[int, tuple[Spelling, list[str], list[str]]] = BoundedDict(50_000)
        """Id of a spelling -> the spelling, kept so that its id stays unique, texts of its operands, and targets."""

    def texts(self, caller: Caller, op: str = "") -> list[str] | None:
        """Return the source text of arguments that may be tensors; None if one of our modules is in between."""
        if caller.module or caller.frame is None:
            return None
        spelling, texts, _ = self._known(caller.frame)
        return texts[::-1] if spelling.turns(op) else texts

    def of_outputs(self, caller: Caller, outputs: Any) -> list[str]:
        """Return the names that the line assigns the outputs to."""
        return list(fitting(self.targets(caller), outputs))

    def targets(self, caller: Caller) -> list[str]:
        """Return the targets of the line's assignment."""
        return [] if caller.module or caller.frame is None else self._known(caller.frame)[2]

    def _known(self, frame: FrameType) -> tuple[Spelling, list[str], list[str]]:
        spelling = spelling_at(frame)
        known = self._texts.get(id(spelling))
        if known is None:
            texts = _tensor_texts(frame, spelling)
            known = self._texts[id(spelling)] = (spelling, list(texts), list(spelling.targets))
        return known

    def form(self, caller: Caller) -> str:
        """Return the function's name in the line."""
        form = spelling_at(caller.frame).form
        return form if form.islower() and not caller.module else ""

    def written(self, caller: Caller, op: str) -> str:
        """Return the operator's name in the line, "" if it calls something else there."""
        spelling = spelling_at(caller.frame)
        if spelling.turns(op) and not caller.module:
            return spelling.compares
        form = self.form(caller)
        return form if op in (canonical(form), canonical(f"__{form}__")) else ""

    def cast(self, caller: Caller, row: str) -> str:
        """Return ``half`` and the like, which share an operator."""
        form = self.form(caller) if row == "_to_copy" else ""
        return form if form in _CASTS else ""

    def stack(self, frame: FrameType | None) -> list[StackFrame]:
        """Return the user's frames that lead to a call."""
        return stack_of(frame)


def matched(
    texts: Sequence[str] | None, numbers: Sequence[int | None], within: Collection[int], rows: Rows
) -> Sequence[str]:
    """Return the text of each input of a call, by their numbers; None for new ones.

    ``within`` are the numbers of tensors that the same call has made: the line has no text for them.
    """
    count = len(numbers)
    if texts is None:
        return [""] * count
    if len(texts) != count:
        if count == 1 and texts:
            texts = texts[:1]
        else:  # those by which tensors are known
            known = ["" if number is None else rows[number].name for number in numbers]
            texts = [name if name in texts else "" for name in known]
    if not within:
        return texts
    return ["" if number in within else text for number, text in zip(numbers, texts, strict=True)]


def named_by(texts: Sequence[str] | None, numbers: Sequence[int], within: Collection[int], rows: Rows) -> Sequence[str]:
    """Return the same; tensors without a name get their text as name."""
    names = matched(texts, numbers, within, rows)
    give_names(numbers, names, rows)
    return names


def fitting(targets: Sequence[str], outputs: Any) -> Sequence[str]:
    """Return the targets of a line, if they are as many as the results of a call, else none."""
    if len(targets) == len(outputs):
        return targets
    return _NO_NAMES[len(outputs)] if len(outputs) < len(_NO_NAMES) else [""] * len(outputs)


def _tensor_texts(frame: FrameType, spelling: Spelling) -> tuple[str, ...]:
    """Return the texts of the operands that may be tensors, without constants and module names."""
    texts: list[str] = []
    if spelling.receiver and not (_DOTTED.match(spelling.receiver) and _is_module(frame, spelling.receiver)):
        texts.append(spelling.receiver)
    for place, operand in enumerate(spelling.operands):
        texts.extend(spelling.parts.get(place, (operand,)))
    texts.extend(spelling.keywords.values())
    texts = [text for text in texts if not _is_constant(text)]
    if spelling.form == "BinOp" and len(texts) > 1:
        texts = [text for text in texts if not is_number(frame, text)] or texts
    return tuple(texts)


def _is_module(frame: FrameType, receiver: str) -> bool:
    """Whether the receiver of a call begins with a module's name (``torch.nn.functional``)."""
    root = receiver.partition(".")[0]
    code = frame.f_code
    if root in code.co_varnames or root in code.co_cellvars:
        return False
    return isinstance(frame.f_globals.get(root), ModuleType)


@functools.lru_cache(maxsize=20_000)
def _is_constant(text: str) -> bool:
    """Whether a text is a number, string, slice or a tuple of them."""
    if not text:
        return False
    node = parsed_expression(text)
    if node is None:
        return ":" in text
    kinds = (ast.Constant, ast.Slice, ast.UnaryOp, ast.Tuple, ast.List, ast.USub, ast.Load, ast.UAdd)
    return all(isinstance(part, kinds) for part in ast.walk(node))
