"""Messages for a call that cuts the path from a loss: the cause, how it cuts, and the fix."""

from __future__ import annotations

import ast
import builtins
from typing import NamedTuple

from ....operators import Trait, is_a, traits_of
from ....program.places import SourceLine
from ....program.syntax import parsed_expression
from ....recording.events import Event
from ...facts.flow import Flow
from ...facts.hooks import is_code_of
from ...facts.ledger import made_of
from ...facts.nodes import checkpoint_around, switch_around
from ...text.spelling import argument, assigned, called, operand, statement
from ...text.words import at, function_name, place

NO_DERIVATIVE = ("integer", "nondifferentiable")
"""Reasons of cuts by an operation that has no derivative."""
_NO_INFERENCE = (
    "torch.no_grad() in place of torch.inference_mode(): enable_grad() lifts that one and not this, or "
    "torch.inference_mode(False) around what needs gradients"
)
_DRAWING = "sample"
"""The method of distributions that has a twin with a derivative, ``rsample``."""


_SIGNS = {ast.Gt: ">", ast.Lt: "<", ast.GtE: ">=", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!="}


class Cause(NamedTuple):
    """The cause of a cut."""

    line: SourceLine | None
    mode: str = ""
    """The mode that switched gradients off: ``no_grad``, ``inference_mode``."""
    callee: str = ""
    """The function that is decorated with it, or the engine's that switches it for itself."""
    own: bool = False
    """The engine switched it for itself."""
    forever: bool = False
    """Gradients were switched off by a statement, and not on again."""


def cause_of(flow: Flow, row: int) -> Cause:
    """Return the line that switched gradients off, else the checkpoint around the call, else its own line."""
    switch = switch_around(flow, row)
    if switch is None and (hook := replacing_hook(flow, row)) is not None:
        line = flow.events[row].source
        return Cause(line and line._replace(line=int(hook.data["returns"])))
    if switch is None:
        return Cause(checkpoint_around(flow, row) or flow.events[row].source)
    data = switch.data
    forever = data.get("action") == "set"
    return Cause(switch.source, switch.op, data.get("callee", ""), data.get("own", False), forever)


def what_cut(flow: Flow, row: int, cause: Cause, root: str, reason: str) -> str:
    """Say how a call cuts the path from a loss; ``reason`` is the recorded reason of the cut."""
    return _without_gradients(flow, row, cause, root, reason) or _left_the_graph(flow, row, cause, root, reason)


def _without_gradients(flow: Flow, row: int, cause: Cause, root: str, reason: str) -> str:
    """Say what switched gradients off, if something did."""
    event, source = flow.events[row], cause.line
    if cause.callee and not cause.own:
        mode = cause.mode or reason
        return f"{cause.callee}, called at {place(source)}, runs under @torch.{mode}(), so {root} has no history"
    if checkpoint_around(flow, row):
        return (
            f"the reentrant checkpoint{at(source)} computes its block without gradients, and as no input of it "
            f"requires grad, {root} has no history there"
        )
    made = (event.data.get("output_names") or [""])[0]
    if cause.forever:
        result = made or f"the result of {event.op}"
        return (
            f"torch.{cause.mode}(...){at(source)} switched gradients off and nothing switched them on again before "
            f"{result}{at(event.source)}, so {root} has no history there"
        )
    if cause.own:
        result = made or assigned(flow.spelling.text(event.source)) or "its result"
        does = "draws" if cause.callee == _DRAWING else "computes"
        return f"{cause.callee}(){at(source)} {does} {result} without gradients, so {root} has no history there"
    if cause.mode or reason in ("no_grad", "inference"):
        what = cause.mode or {"inference": "inference_mode"}.get(reason, reason)
        result = made or f"the result of {event.op}"
        called = _called_inside(event, source)
        around = f", which is around the call of {called}" if called else ""
        return (
            f"{result}{at(event.source)} is computed under torch.{what}{at(source)}{around}, so {root} has no history "
            "there"
        )
    return ""


def _called_inside(event: Event, switch: SourceLine | None) -> str:
    """Return the function called in the block that switched gradients off, if the call was made there."""
    called = ""
    for frame in event.data.get("stack", ()):
        if switch is not None and (frame.get("file"), frame.get("function")) == (switch.file, switch.function):
            return called
        called = "" if frame.get("function", "<").startswith("<") else str(frame["function"])
    return ""


def _left_the_graph(flow: Flow, row: int, cause: Cause, root: str, reason: str) -> str:
    """Say how values left the graph while gradients were on."""
    event, source = flow.events[row], cause.line
    given = event.data.get("names") or [""]
    name = given[0] or (flow.name(event.data["inputs"][0]) if event.data.get("inputs") else "a tensor")
    if reason in NO_DERIVATIVE:
        return f"the path from {root} ends at {_as_written(flow, event)}{at(source)}, which has no derivative"
    if reason in ("item", "tolist", "numpy"):
        run = next((run for run in flow.runs if run.begin > row), None)
        how = f"{event.written}(...)" if hasattr(builtins, event.written) else f".{event.written}()"
        return f"the value of {name} leaves the graph as a plain number through {how}{at(source)}, " + (
            f"and {root} is a new leaf that is not connected to it{_said_to_need_gradients(flow, run.roots)}"
            if run is not None and any(map(flow.is_leaf, run.roots))
            else f"so what {root} gets of it is a constant"
        )
    if reason == "copy":
        name = argument(flow.spelling.text(source), _copies) or name
        copied = f"torch.{event.written}({name}){at(source)}"
        return f"{copied} copies the values into a new leaf, which cuts the path from {root}"
    word = ".data" if reason == "data" else f".{event.written}()"
    if (hook := replacing_hook(flow, row)) is not None:
        return (
            f"the forward hook {function_name(hook.data.get('hook')) or ''}, registered{at(hook.source)}, returns what "
            f"{word} of {name}{at(event.source)} gives, and what a hook returns takes the place of the result"
        )
    if (call := call_that_cuts(flow, row)) is not None:
        return f"the path from {root} is cut by {ast.unparse(call)}{at(source)}, which gives {name} detached"
    return f"the path from {root} is cut by {word} of {name}{at(source)}"


def replacing_hook(flow: Flow, row: int) -> Event | None:
    """Return the forward hook that replaces a module's result by the result of a cut."""
    line = flow.events[row].source
    if line is None or flow.events[row].data.get("reason") not in ("detach", "data"):
        return None
    for _, hook in flow.of_kind("hook", action="registered"):
        forward = str(hook.data.get("method", "")).startswith("register_forward")
        if forward and hook.data.get("returns") and is_code_of(hook, line):
            tensors = [*flow.inputs(row), *flow.outputs(row)]
            users = [flow.events[call].source for one in tensors for call in flow.used_in.get(one, ()) if call > row]
            within = any(one is None or is_code_of(hook, one) for one in users)  # it computes something of it
            anew = any(call > row for one in flow.inputs(row) for call in flow.used_in.get(one, ()))
            return None if within or anew else hook
    return None


def call_that_cuts(flow: Flow, row: int) -> ast.Call | None:
    """Return the call of a line in which the engine detaches, None where the line spells that itself."""
    tree = flow.spelling.statement(flow.events[row].source)
    parts = [] if tree is None else list(ast.walk(tree))
    if any(isinstance(one, ast.Attribute) and one.attr in ("data", flow.events[row].written) for one in parts):
        return None
    walked = [one.iter for one in parts if isinstance(one, ast.comprehension)]  # is there before it is computed with
    for within in (walked, parts):
        found = [call for part in within for call in ast.walk(part) if isinstance(call, ast.Call)]
        calls = [one for one in found if not traits_of(called(one))]
        inner = {ast.unparse(one): one for one in calls if not any(other in calls for other in list(ast.walk(one))[1:])}
        if inner:
            return inner.popitem()[1] if len(inner) == 1 else None
    return None


def _said_to_need_gradients(flow: Flow, roots: list[int]) -> str:
    """Return what to add if a statement made a leaf of a loss, without which backward would have raised."""
    rows = [row for root in roots for row in flow.leaf_events.get((root, "requires_grad"), ())]
    return f"; requires_grad_(){at(flow.events[rows[0]].source)} only hides that" if rows else ""


def remedy_of(flow: Flow, row: int, reason: str, cause: Cause) -> str:
    """Return the fix for a cut; the user's program is to be changed, not a package that turns gradients off."""
    package = cause.line.inside.partition(" (")[0] if cause.line is not None and reason == "no_grad" else ""
    event, checkpoint = flow.events[row], checkpoint_around(flow, row)
    line = flow.spelling.text(checkpoint or event.source)
    if checkpoint is not None:
        other = line.replace("use_reentrant=True", "use_reentrant=False")
        return other if other != line else "checkpoint(..., use_reentrant=False)"
    if cause.own and cause.callee == _DRAWING:
        return (
            f"{line.replace('.sample(', '.rsample(')}, where the distribution has it; else a loss with log_prob(...) "
            "of what was drawn"
        )
    if cause.callee and not cause.own and not package:
        return f"do not decorate {cause.callee} with torch.no_grad() when it is used in training"
    if reason in NO_DERIVATIVE:
        return f"use a differentiable function in place of {_as_written(flow, event)}, such as {_smooth(flow, event)}"
    if cause.mode == "inference_mode" or reason == "inference":
        return _NO_INFERENCE
    if reason in ("detach", "data") and (other := _instead_of_detach(flow, row, line)):
        return other
    if reason in ("item", "tolist"):
        return f"keep the tensors and compute with them, without {event.op}() and torch.tensor(...)"
    if reason == "numpy" or "numpy()" in line:
        return "compute with torch functions instead of NumPy"
    if reason == "copy":
        return _uncopied(flow, event, argument(line, _copies))
    if cause.forever:
        return "with torch.no_grad(): around what is to have no gradients; it ends with the block"
    if written := _written(flow, row):
        return written
    off = f"see when {package} records gradients: some code does for inputs that require grad"
    return off if package else "move this out of the block in which gradients are off"


def _written(flow: Flow, row: int) -> str:
    """Return the fix for new values of a leaf that are written without gradients, "" for other calls."""
    if flow.target(row) is not None and flow.does(row, Trait.COPY):
        return (
            "compute with the new values themselves, as torch.func.functional_call(module, values, args) does: what is "
            "copied into a parameter leaves its history behind"
        )
    if is_rebound_step(flow, row):
        name = (flow.events[row].data.get("names") or [""])[0] or "the leaf"
        return f"write into {name} itself, which stays the leaf that way: {name} -= ..., or {name}.copy_(...)"
    return ""


def is_rebound_step(flow: Flow, row: int) -> bool:
    """Whether a call that records no gradients adds what was made of a leaf's ``.grad`` to the leaf itself.

    No optimizer has that leaf: the next value takes its place under its name, and has no gradient any more.
    """
    if flow.has_node(row) or flow.target(row) is not None or not flow.does(row, Trait.ADDITION):
        return False
    first, *others = flow.inputs(row)
    shape = flow.facts(first).shape

    def is_gradient(tensor: int) -> bool:
        return not flow.made_in.get(tensor) and not flow.requires_grad(tensor) and flow.facts(tensor).shape == shape

    hand = first in flow.accumulated and first not in flow.optimized
    return hand and (any(map(is_gradient, others)) or made_of(flow, others, row, is_gradient))


def _instead_of_detach(flow: Flow, row: int, line: str) -> str:
    """Return the replacement of a line that detaches; nothing if NumPy takes over there."""
    if (hook := replacing_hook(flow, row)) is not None:
        name = function_name(hook.data.get("hook")) or "the hook"
        return f"let {name} return nothing: what only looks at a result leaves it as it is"
    if (call := call_that_cuts(flow, row)) is not None:
        return _undetached(call)
    if other := not_simply_attached(flow, row) or _without_layer(line):
        return other
    given = (flow.events[row].data.get("names") or [""])[0]
    return "" if "numpy()" in line else f"take {given or 'the result'} itself, without {flow.events[row].op}"


def _undetached(call: ast.Call) -> str:
    """Return the replacement of a call that returns detached tensors."""
    text, of = ast.unparse(call), call.func
    if isinstance(of, ast.Attribute) and of.attr == "state_dict":
        owner = ast.unparse(of.value)
        return f"dict({owner}.named_parameters()) in place of {text}: those are the parameters themselves"
    return f"do without {text}, or with what it was given: what it gives is detached"


def _without_layer(line: str) -> str:
    """Return a line without the layer that detaches; nothing if NumPy takes over there."""
    other = "" if "numpy()" in line else _attached(line)
    tree = statement(other)
    same = isinstance(tree, ast.Assign) and ast.unparse(tree.targets[0]) == ast.unparse(tree.value)
    return "leave this line out" if same else other


def not_simply_attached(flow: Flow, row: int) -> str:
    """Return the fix for a cut that must stay, nothing for one that can be removed."""
    name = (flow.events[row].data.get("names") or [""])[0] or "it"
    users = [call for out in flow.outputs(row) for call in flow.used_in.get(out, ()) if call > row]
    made = flow.last_producer(flow.inputs(row)[0], row, gradients=True) if flow.inputs(row) else None
    if users and made is not None and _walked_between(flow, made, min(users)):
        return (
            f"compute {name} anew in the pass that reads it, before its loss: from one pass to the next it is rightly "
            "detached, and what led to it gets nothing"
        )
    for call in users:
        given = [one for one in flow.inputs(call) if one not in flow.outputs(row) and flow.has_history(one, call)]
        if (
            is_a(flow.events[call].op, Trait.LINEAR)
            and given
            and not flow.behind([*flow.inputs(row)], row).tensors.isdisjoint(given)
        ):
            return _loss_beside(flow, made, given, name)
    return ""


def _walked_between(flow: Flow, made: int, taken: int) -> bool:
    """Whether a pass went through a call before something took the result, so that its graph is gone by then."""
    return any(made < run.begin < taken and made in flow.reached_by(run).calls for run in flow.runs)


def _loss_beside(flow: Flow, row: int | None, kept: list[int], name: str) -> str:
    """Return the loss that trains what a straight-through estimate leaves out; ``row`` made what it detaches."""
    others: list[int] = []
    if row is not None and flow.does(row, Trait.DIFFERENCE) and flow.does(row, Trait.LINEAR):
        others = [one for one in flow.inputs(row) if one not in kept and flow.has_history(one, row)]
    if row is None or len(others) != 1:
        return f"keep this line, which replaces only a value, and add a loss of its own for what {name} is made from"
    lost, other = (flow.name(one, flow.events[row].source) for one in (others[0], kept[0]))
    return (
        f"keep this line, which takes the value of {lost} and the gradient of {other}, and add a loss for {lost} "
        f"itself: F.mse_loss({lost}, {other}.detach())"
    )


def _attached(line: str) -> str:
    """Return a line without the layer that detaches; if it copies the result, also without the copy."""
    tail = next((tail for tail in (".detach_()", ".detach()", ".data") if tail in line), "")
    if not tail:
        return ""
    attached = line.replace(tail, "")
    copied = argument(attached, _copies)
    if copied == argument(line, _copies):
        return _unbracketed(attached)
    return f"use {copied} itself: a copy of it is a new leaf, which cuts the chain as well"


def _unbracketed(line: str) -> str:
    """Return a line without brackets around the assigned or returned expression."""
    value = getattr(statement(line), "value", None)
    if not isinstance(value, ast.expr) or not line.isascii():  # else columns are not those of the text
        return line
    before, after = line[: value.col_offset], line[value.end_col_offset :]
    return (
        f"{before[:-1]}{line[value.col_offset : value.end_col_offset]}" if (before[-1:], after) == ("(", ")") else line
    )


def _uncopied(flow: Flow, event: Event, given: str) -> str:
    """Return an expression that keeps the history of what a line copies, which may be a list of tensors."""
    copied = [one for _, one in flow.of_kind("cut", reason="copy") if one.data["outputs"] == event.data["outputs"]]
    taken = event.data.get("inputs", ())
    several = len(copied) > 1 or len(taken) > 1 or (given and given not in event.data.get("names", ()))
    if several:
        given = given or flow.spelling.argument_at(event.source, event.written, 0)
        return f"{_stacked(given)}, which keeps the history"
    return "use the tensor itself, or .clone(), which keeps the history"


def _stacked(text: str) -> str:
    """Return an expression that stacks a list of tensors, including nested lists."""
    parts = parsed_expression(text)
    if isinstance(parts, ast.List) and any(isinstance(one, ast.List) for one in parts.elts):
        text = f"[{', '.join(_stacked(ast.unparse(one)) for one in parts.elts)}]"
    return f"torch.stack({text or '...'})"


def _copies(function: str) -> bool:
    """Whether a function makes a new leaf of its argument."""
    return is_a(function, Trait.ENTERING)


def _comparison(flow: Flow, event: Event) -> ast.Compare | None:
    """Return the comparison in the line of a call that compares, None where it is written as a function."""
    tree = flow.spelling.statement(event.source) if is_a(event.op, Trait.COMPARISON) else None
    found = [one for one in ast.walk(tree) if isinstance(one, ast.Compare)] if tree is not None else []
    names = set(filter(None, event.data.get("names", ())))
    fitting = [one for one in found if names <= {ast.unparse(one.left), ast.unparse(one.comparators[0])}]
    return fitting[0] if len(fitting) == 1 else None


def _as_written(flow: Flow, event: Event) -> str:
    """Return the name of an operator; of a comparison its sign, where the line has that."""
    compared = _comparison(flow, event)
    return event.op if compared is None else _SIGNS.get(type(compared.ops[0]), event.op)


def _bracketed(text: str) -> str:
    """Return an expression as it can be subtracted."""
    return f"({text})" if isinstance(parsed_expression(text), ast.BinOp | ast.Compare | ast.IfExp) else text


def _smooth(flow: Flow, event: Event) -> str:
    """Return a differentiable replacement of an operation."""
    if is_a(event.op, Trait.COMPARISON):
        given = [name for name in event.data.get("names", ()) if name] or ["x"]
        one, other = [*given, str(event.data.get("arguments", {}).get("1", "limit"))][:2]
        if is_a(event.op, Trait.EQUALITY):
            return f"torch.exp(-10 * ({one} - {_bracketed(other)}) ** 2), which is near 1 where the two are equal"
        if (compared := _comparison(flow, event)) is not None:
            one, other = ast.unparse(compared.left), ast.unparse(compared.comparators[0])
        larger, smaller = (other, one) if _as_written(flow, event)[0] == "<" else (one, other)
        return f"torch.sigmoid(10 * ({larger} - {_bracketed(smaller)})), near 1 where {larger} is the larger one"
    keys = operand((event.data.get("names") or [""])[0] or "x")
    ranks = f"torch.sigmoid(10 * ({keys}.unsqueeze(-1) - {keys}.unsqueeze(-2))).sum(-1) for ranks"
    weights = f"torch.softmax({keys}, dim), or the mean of all positions weighted by it"
    least = weights.replace("torch.softmax(", "torch.softmax(-")
    return {"argsort": ranks, "argmax": weights, "argmin": least}.get(
        event.op, "softmax for a choice, sigmoid for a bound"
    )
