"""How a program spells its tensors: names from the recording, and texts of its source lines."""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property, lru_cache

from ...operators import Trait, is_a
from ...program.places import SourceLine
from ...program.syntax import parsed, parsed_expression
from ...recording.events import Recording
from .fragments import Fragment, fragments, heads_around
from .words import shape_text

_PUTTING = (
    r"(?:\.(append|appendleft|push|add|insert|extend|put|store|save|record|log|update)\(|\]\s*="
    r"|\+=?\s*\[|\+=?\s*\((?=[^()]*,\s*\))|[\[(]\s*\*\w+,)"
)
"""Matches lines that put something into a collection."""
_CASES = ("if ", "if(", "elif ", "elif(", "else:", "case ")
_PLAIN = "item|detach|data|tolist|cpu|numpy"


class Spelling:
    """Names of tensors, by the function that uses them."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._spelled: dict[int, dict[str, str]] = defaultdict(dict)
        self._fragments: dict[str, list[Fragment]] = {}
        self._mentioned: dict[str, set[int]] = defaultdict(set)
        """Name -> leaves that lines which look at leaves call so: ``p`` in ``for p in params: p.grad = None``."""
        for event in recording.events:
            function = event.source.function if event.source else ""
            data = event.data
            self._note(function, data.get("outputs", ()), data.get("output_names", ()))
            self._note(function, data.get("inputs", ()), data.get("names", ()))
            if event.kind in ("leaf", "read") and data.get("names"):
                self._mentioned[data["names"][0]].add(data.get("tensor", -1))

    def _note(self, function: str, tensors: list[int], names: list[str]) -> None:
        """Keep the first plain name of each tensor in a function."""
        for tensor, name in zip(tensors, names, strict=False):
            if is_name(name):
                self._spelled[tensor].setdefault(function, name)

    def name(self, tensor: int, function: str | None = None) -> str:
        """Return the best name of a tensor, or words such as ``a (3, 4) tensor``.

        A parameter goes by its own name, any other tensor by how ``function`` spells it if it does.
        """
        facts = self._recording.tensors[tensor]
        spelled = self._spelled.get(tensor, {})
        if facts.name and facts.parameter:
            return self._of_modules.get(tensor, facts.name)
        names = [spelled.get(function or "", ""), facts.name, *spelled.values()]
        known = [name for name in names if name]
        own = [name for name in known if not (facts.leaf and self._leaves_called.get(name, 0) > 1)]
        return (own or known or [f"a {shape_text(facts.shape)} tensor"])[0]

    @cached_property
    def _of_modules(self) -> dict[int, str]:
        """Parameter -> its name from the variable of the outermost module on."""
        found: dict[int, str] = {}
        for event in self._recording.events:
            if event.kind == "module":
                module = event.data.get("name", "")
                for name, tensor in event.data.get("parameters", {}).items():
                    found.setdefault(tensor, f"{module}.{name}" if module else name)
        return found

    @cached_property
    def _leaves_called(self) -> dict[str, int]:
        """Name -> how many leaves go by it; more than one share the variable of a loop."""
        called = {name: set(leaves) for name, leaves in self._mentioned.items()}
        for leaf, facts in enumerate(self._recording.tensors):
            if facts.leaf and facts.requires_grad:
                for name in self.names(leaf):
                    called.setdefault(name, set()).add(leaf)
        return {name: len(leaves) for name, leaves in called.items()}

    def spelled(self, tensor: int, row: int) -> str:
        """Return how the line of a call spells one of its inputs, or nothing."""
        data = self._recording.events[row].data
        pairs = zip(data.get("inputs", ()), data.get("names", ()), strict=False)
        return next((name for given, name in pairs if given == tensor and is_name(name)), "")

    def has_name(self, tensor: int) -> bool:
        """Whether the program has a name for a tensor."""
        return bool(self._recording.tensors[tensor].name or self._spelled.get(tensor))

    def names(self, tensor: int) -> set[str]:
        """Return every name that a tensor goes by."""
        found = set(self._spelled.get(tensor, {}).values())
        if self._recording.tensors[tensor].name:
            found.add(self._recording.tensors[tensor].name)
        return found

    def argument_at(self, source: SourceLine | None, function: str, place: int) -> str:
        """Return how a line spells an argument of a function that it calls, or nothing."""
        for call in _calls(self.statement(source)):
            if called(call) == function and len(call.args) > place:
                return ast.unparse(call.args[place])
        return ""

    def result_of(self, source: SourceLine | None, function: str) -> str:
        """Return how a line spells the result of a function: the variable that takes it, else the call, or nothing."""
        found = self.statement(source)
        call = next((one for one in _calls(found) if called(one) == function), None)
        if isinstance(found, ast.Assign) and found.value is call:
            return ast.unparse(found.targets[0]) if len(found.targets) == 1 else ""
        return "" if call is None else ast.unparse(call)

    def appending(self, name: str, near: SourceLine | None) -> SourceLine | None:
        """Return a recorded line of the same file that puts a variable into a collection."""
        if near is None or not name.isidentifier():
            return None
        pattern = re.compile(rf"{_PUTTING}.*(?<!float\()\b{name}\b(?!\s*\.\s*({_PLAIN})\b)")
        for number, text in sorted(self._recording.sources.get(near.file, {}).items()):
            found = pattern.search(text)
            if found is not None and found[1] not in self._computed.get((near.file, number), ()):
                return SourceLine(near.file, number, near.function)
        return None

    @cached_property
    def _computed(self) -> dict[tuple[str, int], set[str]]:
        """(File, line) -> the operators that it called: ``torch.log(p)`` puts nothing away."""
        found: dict[tuple[str, int], set[str]] = defaultdict(set)
        for event in self._recording.events:
            if event.source is not None:
                found[event.source.file, event.source.line] |= {event.op, event.written}
        return found

    def handing(self, name: str, near: SourceLine | None) -> SourceLine | None:
        """Return the one line of the same file that passes a variable to a function and keeps no result."""
        found = [one for one in self.kept_statements(near.file) if _hands_on(one.tree, name)] if near else []
        return SourceLine(near.file, found[0].first, near.function) if near and len(found) == 1 else None

    def attribute(self, name: str, near: SourceLine | None) -> tuple[str, SourceLine] | None:
        """Return the first attribute to which the same file assigns a variable (``self.last = h``), and the line."""
        for one in self.kept_statements(near.file) if near else ():
            target = one.tree.targets[0] if isinstance(one.tree, ast.Assign) else None
            kept = isinstance(one.tree, ast.Assign) and ast.unparse(one.tree.value) == name
            if near and kept and isinstance(target, ast.Attribute):
                return ast.unparse(target), SourceLine(near.file, one.first, near.function)
        return None

    def text(self, source: SourceLine | None) -> str:
        """Return the user's line, without indentation; "" for one that called into a package."""
        if source is None or source.inside:
            return ""
        return self._recording.sources.get(source.file, {}).get(source.line, "").strip()

    def statements(self, source: SourceLine | None) -> list[Fragment]:
        """Return the user's statements down to the one at a line, as far as they were kept, the one at it last."""
        if source is None:
            return []
        return [one for one in self.kept_statements(source.file) if one.first <= source.line]

    def kept_statements(self, file: str) -> list[Fragment]:
        """Return the statements of a file, as far as they were kept."""
        if file not in self._fragments:
            self._fragments[file] = list(fragments(self._recording.sources.get(file, {})))
        return self._fragments[file]

    def statement(self, source: SourceLine | None) -> ast.stmt | None:
        """Return the user's statement at a line, which it may share with others, or nothing."""
        found = [] if source is not None and source.inside else self.statements(source)
        return found[-1].tree if found and source is not None and source.line <= found[-1].last else None

    def loop_around(self, source: SourceLine) -> tuple[SourceLine, set[str]] | None:
        """Return the head of the innermost ``for`` around a line, with its variables, if all between was kept."""
        for number, text in heads_around(self._recording.sources.get(source.file, {}), source.line):
            if isinstance(tree := statement(text), ast.For):
                return SourceLine(source.file, number, source.function), variables_in(tree.target)
        return None

    def in_a_case(self, source: SourceLine) -> bool:
        """Whether a line is under a condition in its function, as far as the lines between were kept."""
        heads = heads_around(self._recording.sources.get(source.file, {}), source.line)
        return any(text.lstrip().startswith(_CASES) for _, text in heads)


def variables_in(code: ast.AST | str) -> set[str]:
    """Return the variables in an expression or a part of one."""
    tree = _parsed(code) if isinstance(code, str) else code
    return {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} if tree is not None else set()


@lru_cache(maxsize=4096)
def is_name(text: str) -> bool:
    """Whether a spelling is a variable, attribute or entry, and no expression that computes."""
    tree = _parsed(text)
    while isinstance(tree, ast.Attribute | ast.Subscript):
        if isinstance(tree, ast.Subscript) and not isinstance(tree.slice, ast.Constant | ast.Name):
            return False
        tree = tree.value
    return isinstance(tree, ast.Name)


def is_call(text: str) -> bool:
    """Whether a spelling is a call, on whose result a method can be called directly."""
    return isinstance(_parsed(text), ast.Call)


def operand(text: str) -> str:
    """Return an expression in a form that can be next to an operator or before a method."""
    return text if is_name(text) or is_call(text) else f"({text})"


def _parsed(text: str) -> ast.expr | None:
    """Return an expression, or nothing if the text is not one."""
    return parsed_expression(text.strip())


def statement(text: str) -> ast.stmt | None:
    """Return the statement in a line, or nothing if the line is only a part of one."""
    stripped = text.strip()
    for attempt in (stripped, f"{stripped}\n    pass"):
        tree = parsed(attempt)
        if tree is not None:
            return tree.body[0] if tree.body else None
    return None


def written_name(text: str) -> str:
    """Return the target that a line changes in place: ``p`` for ``p -= x``, ``h.data`` for ``h.data.clamp_(0)``."""
    node = statement(text)
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.target)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return ast.unparse(node.targets[0])
    for call in _calls(node):
        if _in_place(call) is not None:
            changed: ast.expr = call
            while (before := _in_place(changed)) is not None:  # p of p.mul_(2).add_(1)
                changed = before
            return ast.unparse(changed)
    return ""


def _in_place(node: ast.expr) -> ast.expr | None:
    """Return the receiver that a call of a method such as ``add_`` changes, or nothing."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = node.func.attr
        return node.func.value if method.endswith("_") and method[0] != "_" else None
    return None


def out_of_place(text: str) -> str:
    """Return a statement that assigns a new value to a variable instead of changing the old one, or nothing.

    ``h = h + x`` for ``h += x``, ``h = h.clamp(0)`` for ``h.clamp_(0)``; an entry cannot be given a new value so.
    """
    node = statement(text)
    if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Subscript):
        target = ast.unparse(node.target)
        value = ast.BinOp(node.target, node.op, node.value)
        return f"{target} = {ast.unparse(value)}"
    if isinstance(node, ast.Expr):
        chain = [node.value]  # h.mul_(2).add_(1), h.mul_(2), h: what the first makes, the rest changes
        while (inner := _in_place(chain[-1])) is not None:
            chain.append(inner)
        changed, call = chain[-1], chain[-2] if len(chain) > 1 else None
        if isinstance(call, ast.Call) and isinstance(changed, ast.Name | ast.Attribute) and gives_value(called(call)):
            first, text = ast.unparse(call), ast.unparse(node.value)
            return f"{ast.unparse(changed)} = {_renamed(first)}{text[len(first) :]}"
    return ""


def gives_value(method: str) -> bool:
    """Whether an in-place method has a counterpart that returns a new tensor: ``copy_`` has none."""
    whole = is_a(method, Trait.WRITING) and not is_a(method, Trait.INDEXING)
    return not whole and not is_a(method, Trait.RANDOM, Trait.ALLOCATING)


def _renamed(call: str) -> str:
    """Return a call of an in-place method as that of its counterpart: ``h.clamp(0)`` for ``h.clamp_(0)``."""
    node = _parsed(call)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return call
    method = ast.unparse(node.func)
    return method.rstrip("_") + call[len(method) :]


def hands_over(text: str) -> bool:
    """Whether a statement passes to a call what it also assigns from it, as ``y, h = step(x, h)`` does with ``h``."""
    node = statement(text)
    if not isinstance(node, ast.Assign):
        return True  # nothing can be said of half a statement, or of one that keeps no result
    stored = {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    given = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
    return bool(stored & given)


def _hands_on(node: ast.stmt, name: str) -> bool:
    """Whether a statement calls a function of the program itself, with a variable among its arguments."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or hasattr(builtins, call.func.id):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(isinstance(one, ast.Name) and one.id == name for one in given)


def receiver(text: str, method: str) -> str:
    """Return the receiver of a method call in a line: ``pred`` for ``history.append(pred.numpy())``, or nothing."""
    return next(iter(receivers_of(text, method)), "")


def receivers_of(text: str, method: str) -> list[str]:
    """Return everything that a line calls a method of: ``a`` and ``b`` of ``a.numpy() == b.numpy()``."""
    calls = (call.func for call in _calls(statement(text)) if isinstance(call.func, ast.Attribute))
    return [ast.unparse(called.value) for called in calls if called.attr == method]


def called(call: ast.Call) -> str:
    """Return the last name of the called function: ``SGD`` for ``torch.optim.SGD(params)``, or nothing."""
    return str(getattr(call.func, "attr", None) or getattr(call.func, "id", ""))


def argument(text: str, wanted: Callable[[str], bool]) -> str:
    """Return the first argument, if it is a name, of a call of a wanted function in a line, or nothing."""
    given = (ast.unparse(one.args[0]) for one in _calls(statement(text)) if wanted(called(one)) and one.args)
    return next(filter(is_name, given), "")


def assigned(text: str) -> str:
    """Return the one variable that a line assigns, or nothing."""
    node = statement(text)
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def returns(text: str) -> bool:
    """Whether a line returns a value, be it the whole of a function."""
    node = statement(text)
    return isinstance(node.body[-1] if isinstance(node, ast.FunctionDef) else node, ast.Return)


def drops(text: str) -> bool:
    """Whether a line is an expression alone, of whose value nothing becomes."""
    return isinstance(statement(text), ast.Expr)


def takes(text: str, name: str) -> bool:
    """Whether a line takes the value of a variable."""
    node = statement(text)
    parts = ast.walk(node) if node is not None else ()
    return any(isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load) for part in parts)


def sets_attribute(text: str, spelled: str) -> bool:
    """Whether a line sets the attribute with another line's spelling, perhaps through another name of the object."""
    node, wanted = statement(text), _parsed(spelled)
    targets = node.targets if isinstance(node, ast.Assign) else []
    given = {target.attr for target in targets if isinstance(target, ast.Attribute)}
    return isinstance(wanted, ast.Attribute) and wanted.attr in given


def rebound(text: str) -> str:
    """Return the variable, attribute or entry to which a line assigns a value computed from the old one, or nothing.

    ``self.mean`` of ``self.mean = 0.9 * self.mean + 0.1 * x``, but not of ``self.mean += x``.
    """
    node = statement(text)
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.expr):
        return ""
    target = ast.unparse(node.targets[0])
    taken = {
        ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, ast.Name | ast.Attribute | ast.Subscript)
    }
    return target if target in taken else ""


def _calls(node: ast.stmt | None) -> list[ast.Call]:
    """Return the calls in a statement, outermost first."""
    return [] if node is None else [part for part in ast.walk(node) if isinstance(part, ast.Call)]


def passed_on(text: str) -> str:
    """Return what a line both uses and sets: ``self.hidden`` for ``y, self.hidden = self.rnn(x, self.hidden)``.

    It may take it as an entry that goes by the same name: ``y, h = self.rnn(x, carry["h"])``.
    """
    tree = statement(text)
    if not isinstance(tree, ast.Assign):
        return ""
    places = [place for target in tree.targets for place in getattr(target, "elts", [target])]
    taken = {ast.unparse(given) for given in ast.walk(tree.value) if isinstance(given, ast.expr)}
    named = {given.value for given in ast.walk(tree.value) if isinstance(given, ast.Constant)}
    return next((name for place in places if (name := ast.unparse(place)) in taken or name in named), "")
