"""Finds the expression that raised an exception, also in a worker, and the objects that it names."""

from __future__ import annotations

import ast
import dis
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple

from .frames import is_users, is_users_file, read_locals, user_frames
from .modules import attributes_of
from .names import frame_variables, parameter_names, search
from .places import SourceLine
from .spelling import UNKNOWN, Spelling, spelling_in
from .syntax import parsed_expression

# Exceptions that a worker raised and the program raises again: the message contains the worker's traceback.

_RELAYED = re.compile(
    r"Caught [\w.]+ (?P<where>in .+)\.\nOriginal (?P<traceback>Traceback \(most recent call last\):\n.*)", re.S
)
_ENTRY = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)\n(?:    (?P<text>.*)\n)?', re.M)
_LAST = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?\Z", re.M | re.S)
"""The line after the entries of a traceback."""
_AGAIN = "Traceback (most recent call last):\n"


class Relayed(NamedTuple):
    """An exception that a worker raised, as its message in this process says."""

    where: str
    type: str
    message: str
    line: SourceLine | None
    """The innermost line of the program."""
    raised_in: str
    """Module of the library whose Python code raised; empty for compiled code and the program itself."""
    by_program: bool
    """Whether the program's own ``raise`` or ``assert`` raised it."""

    def data(self) -> dict[str, Any]:
        """Return the data of its event."""
        data = {"type": self.type, "message": self.message, "worker": self.where}
        return {**data, "raised_in": self.raised_in, "by_program": self.by_program}


def relayed(message: str) -> Relayed | None:
    """Return the exception that a worker raised, if a message contains one."""
    found = _RELAYED.match(message)
    if found is None:
        return None
    traceback = found["traceback"].rpartition(_AGAIN)[2]  # of an exception with a cause that of itself comes last
    entries = list(_ENTRY.finditer(traceback))
    rest = "\n".join(line for line in traceback[entries[-1].end() if entries else 0 :].split("\n") if line.strip("^~ "))
    last = _LAST.search(rest)
    if last is None:
        return None
    users = [one for one in entries if is_users_file(one["file"])]
    line = SourceLine(users[-1]["file"], int(users[-1]["line"]), users[-1]["function"]) if users else None
    own = bool(users) and users[-1] is entries[-1]
    module = "" if own or not entries else _module_of(entries[-1]["file"])
    by_program = own and (users[-1]["text"] or "").startswith(("raise", "assert"))
    return Relayed(found["where"], last["type"], last["message"] or "", line, module, by_program)


def _module_of(file: str) -> str:
    """Return the name of the loaded module of a file."""
    modules = list(sys.modules.items())
    return next((name for name, module in modules if getattr(module, "__file__", None) == file), "")


# Finds the expression at which an exception was raised, and the objects that it names.

_ENTRIES = 20
"""Entries of a list or dictionary that count as operands."""
_GIVEN = 2000
"""Objects that are examined among a call's arguments."""
_OWN_RAISES = frozenset({"RAISE_VARARGS", "LOAD_ASSERTION_ERROR", "RERAISE"})


@dataclass(frozen=True, slots=True)
class Failure:
    """The innermost user frame of a traceback."""

    entry: TracebackType | None = None
    spelled: Spelling = UNKNOWN
    raised_in: str = ""
    """Module of the library whose Python code raised; empty for compiled code and the program itself."""
    by_program: bool = False
    """Whether the program's own ``raise`` or ``assert`` raised it."""
    operands: dict[str, Any] = field(default_factory=dict)
    """Text of an operand -> the object that it names."""
    given: list[Any] = field(default_factory=list)
    """Arguments of the library's function, and the entries of lists and dictionaries among them."""
    through: list[str] = field(default_factory=list)
    """Modules of libraries through which the program called its own code that raised."""


def failure_of(error: BaseException) -> Failure:
    """Return where an exception left the program's own code."""
    innermost, last = None, error.__traceback__
    entry = error.__traceback__
    passed: list[str] = []
    through: list[str] = []
    while entry is not None:
        if is_users(entry.tb_frame.f_code):
            innermost, through = entry, list(dict.fromkeys(passed))
        else:
            passed.append(_module(entry))
        last, entry = entry, entry.tb_next
    if innermost is None or last is None:
        return Failure()
    code, instruction = innermost.tb_frame.f_code, innermost.tb_lasti
    spelled = spelling_in(code, instruction)
    module = "" if last is innermost else _module(last)
    own = last is innermost and _raises(innermost)
    given = [] if innermost.tb_next is None else _given(innermost.tb_next)
    operands = {**_again(given, innermost), **_objects(spelled, innermost)}
    return Failure(innermost, spelled, module, own, operands, given, through)


def _again(given: list[Any], entry: TracebackType) -> dict[str, Any]:
    """Return the arguments that were passed more than once, by the names that the program has for them."""
    count = Counter(map(id, given))
    again = {id(one): one for one in given if count[id(one)] > 1 and type(one).__weakrefoffset__}
    if not again:
        return {}
    found = search(frame_variables(user_frames(entry.tb_frame)), set(again), lambda one: id(one) in again)
    modules = {key: name.name for key, name in parameter_names(found.modules, set(again)).items()}
    return {name: again[key] for key, name in {**found.variables, **modules}.items()}


def _module(entry: TracebackType) -> str:
    """Return the name of the module whose code a frame runs."""
    return str(entry.tb_frame.f_globals.get("__name__", ""))


def _given(entry: TracebackType) -> list[Any]:
    """Return the arguments of a function, and the entries of plain lists and dictionaries among them."""
    names = entry.tb_frame.f_code.co_varnames[: entry.tb_frame.f_code.co_argcount]
    known = read_locals(entry.tb_frame)
    waiting = [known[name] for name in reversed(names) if name in known]
    found: list[Any] = []
    while waiting and len(found) < _GIVEN:
        one = waiting.pop()
        parts = list(one.values()) if type(one) is dict else list(one) if type(one) in (list, tuple) else None
        if parts is None:
            found.append(one)
        else:
            waiting += reversed(parts[:_GIVEN])
    return found


def _raises(entry: TracebackType) -> bool:
    """Whether the instruction that a frame is executing is a ``raise``."""
    place = entry.tb_lasti
    return any(one.offset == place and one.opname in _OWN_RAISES for one in dis.get_instructions(entry.tb_frame.f_code))


def _objects(spelled: Spelling, entry: TracebackType) -> dict[str, Any]:
    """Return the texts and objects of an expression's operands, receiver first; entries of lists one by one."""
    frame = entry.tb_frame
    variables = {**frame.f_globals, **read_locals(frame)}
    parts = [text for texts in spelled.parts.values() for text in texts]
    found: dict[str, Any] = {}
    for text in (spelled.receiver, *spelled.operands, *parts, *spelled.keywords.values()):
        node = parsed_expression(text) if text else None
        for one in _named(node):
            _enter(found, ast.unparse(one), _value(one, variables))
    return found


def _named(node: ast.AST | None) -> list[ast.AST]:
    """Return the largest subexpressions that are names, attributes of names, or entries of them."""
    found: list[ast.AST] = []
    waiting = [] if node is None else [node]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)):
            found.append(one)
        waiting += [] if isinstance(one, ast.Name) else list(ast.iter_child_nodes(one))
    return found


def _value(node: ast.AST, variables: dict[str, Any]) -> Any:
    """Return the object that a name, an attribute or an entry refers to, if it can be read without running code."""
    match node:
        case ast.Name():
            return variables.get(node.id)
        case ast.Attribute():
            return _attribute(_value(node.value, variables), node.attr)
        case ast.Subscript(slice=ast.Constant(value=key)):
            held = _value(node.value, variables)
            if type(held) in (list, tuple) and type(key) is int and -len(held) <= key < len(held):
                return held[key]
            return held.get(key) if type(held) is dict and type(key) in (str, int) else None
    return None


def _attribute(holder: Any, name: str) -> Any:
    """Return an attribute from an object's own dictionary, or a module's parameter, buffer or child."""
    own = attributes_of(holder)
    tables = [own, *(own[key] for key in ("_parameters", "_buffers", "_modules") if type(own.get(key)) is dict)]
    return next((table[name] for table in tables if name in table), None)


def _enter(found: dict[str, Any], text: str, value: Any) -> None:
    """Add an object, or the first entries of a list or dictionary."""
    if type(value) in (list, tuple):
        found.update({f"{text}[{place}]": one for place, one in enumerate(value[:_ENTRIES])})
    elif type(value) is dict:
        found.update({f"{text}[{key!r}]": value[key] for key in list(value)[:_ENTRIES] if type(key) in (str, int)})
    elif value is not None:
        found[text] = value
