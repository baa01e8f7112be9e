"""Size budgets: files, function bodies and parameter lists stay small enough to read."""

from __future__ import annotations

import ast
import statistics
from functools import cache

from source_tree import MODULES, FunctionNode, body_lines, functions

FILE_LINES = 400
TABLE_LINES = 600  # retrograd/engine/ops/*: rows of the operator table
BODY_LINES = 60
PARAMETERS = 8
MEDIAN_BODY, P90_BODY = 8, 30

# Signatures that are PyTorch's, so that their length is not ours to choose: room → reason.
TORCH_SIGNATURES = (
    "retrograd.engine", "retrograd.autograd", "retrograd.nn", "retrograd.utils", "retrograd.library",
    "retrograd.testing", "retrograd.profiler", "retrograd.func", "retrograd.optim",
    "retrograd.distributions",
)  # fmt: skip

# Functions that may be longer or take more, each with its reason. Keep this short.
LONG_BODY: dict[str, str] = {}
MANY_PARAMETERS: dict[str, str] = {
    "retrograd.inspect.process.recorder:recording": "what can be chosen of a recording, each by its name",
    "retrograd.inspect.training.run:watch.__init__": "what can be chosen of a watched run, each by its name",
}
# Base classes whose ladder is PyTorch's, so that users' subclasses fit: counted from here upward.
TORCH_LADDERS: dict[str, str] = {
    "Function": "FunctionCtx → Function → a user's operator",
    "Optimizer": "Optimizer → declared settings → an optimizer → a variant",
    "Declared": "Optimizer → declared settings → an optimizer → a variant",
    "LRScheduler": "a schedule → of schedules, or by a function → a schedule",
    "Module": "Module → a family → a layer",
    "Distribution": "Distribution → a family → a distribution",
    "ExponentialFamily": "Distribution → exponential families → a distribution → a special case",
    "OneHotCategorical": "Distribution → over categories → with gradients or without",
    "Transform": "Transform → increasing maps of numbers → a map",
    "Constraint": "Constraint → with bounds → a set",
    "Tensor": "TensorBase → Tensor → Parameter",
    "TorchDispatchMode": "what stands between operators and their computation → a mode → a mode of a module",
    "_Numbered": "Module → numbered modules → a container → a container of steps",
    "Layer": "Module → declared layers → a family → a layer",
    "_Loss": "declared layers → losses → with the reduction first → a loss",
    "_Strided": "declared layers → strided windows → a kind of pool → by dimensions",
    "_ConvNd": "Module → all convolutions → plain or transposed → by dimensions",
    "_Scaling": "Module → norms with weight and bias → a norm",
    "_NormBase": "norms with running averages → over batches or instances → by dimensions",
    "LazyModuleMixin": "the mixin → a family of lazy layers → a layer, beside what it becomes",
    "_Plain": "convolutions → by dimensions → lazy",
    "_ConvTransposeNd": "transposed convolutions → by dimensions → lazy",
    "_BatchNorm": "norms over batches → by dimensions → lazy",
    "_InstanceNorm": "norms over instances → by dimensions → lazy",
    "BasePruningMethod": "a hook that prunes → entries or slices by chance → by size",
    "Parameter": "TensorBase → Tensor → Parameter → one without a shape",
    "ModeContext": "context manager and decorator → with or without arguments → the mode",
}


def most_lines(name: str) -> int:
    """How many lines a module may have."""
    return TABLE_LINES if name.startswith("retrograd.engine.ops") else FILE_LINES


def test_files_are_short() -> None:
    """No source file is longer than 400 lines, no file of operator rows longer than 600."""
    lengths = {name: len(module.text.splitlines()) for name, module in MODULES.items()}

    assert {name: lines for name, lines in lengths.items() if lines > most_lines(name)} == {}


@cache
def all_functions() -> list[tuple[str, FunctionNode]]:
    """Every function of the package as (module:qualified name, node)."""
    return [(f"{name}:{inner}", node) for name, module in MODULES.items() for inner, node in functions(module)]


def test_function_bodies_are_short() -> None:
    """No function body is longer than 60 lines."""
    long = {where: body_lines(node) for where, node in all_functions() if body_lines(node) > BODY_LINES}

    assert {where: lines for where, lines in long.items() if where not in LONG_BODY} == {}


def test_most_function_bodies_are_much_shorter() -> None:
    """Half of all function bodies have at most 8 lines, nine of ten at most 30."""
    lengths = sorted(body_lines(node) for _, node in all_functions())

    assert statistics.median(lengths) <= MEDIAN_BODY
    assert lengths[int(len(lengths) * 0.9)] <= P90_BODY


def parameters(node: FunctionNode) -> int:
    """How many parameters a caller could give."""
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([argument for argument in named if argument.arg not in ("self", "cls", "ctx")])


def test_parameter_lists_are_short() -> None:
    """No function of ours takes more than 8 parameters, unless PyTorch's signature says so."""
    many = {
        where: parameters(node)
        for where, node in all_functions()
        if parameters(node) > PARAMETERS and not where.startswith(TORCH_SIGNATURES)
    }

    assert {where: count for where, count in many.items() if where not in MANY_PARAMETERS} == {}


def test_exceptions_are_still_needed() -> None:
    """An entry in a list of exceptions goes when its function has become short."""
    nodes = dict(all_functions())
    stale = [where for where in LONG_BODY if where not in nodes or body_lines(nodes[where]) <= BODY_LINES]
    stale += [where for where in MANY_PARAMETERS if where not in nodes or parameters(nodes[where]) <= PARAMETERS]

    assert stale == []


def test_no_vague_file_names() -> None:
    """No file is called after nothing in particular."""
    vague = {"utils", "util", "helpers", "helper", "manager", "misc", "common"}
    named = [name for name in MODULES if name.rpartition(".")[2] in vague]

    theirs = {"retrograd.utils", "retrograd.nn.utils", "retrograd.nn.modules.utils", "retrograd.distributions.utils"}
    assert set(named) <= theirs, f"{theirs} have PyTorch's names; no other file may be called so"


def class_depths() -> dict[str, int]:
    """Depth of inheritance among the package's own classes, exceptions aside (1 = no base of ours)."""
    bases: dict[str, list[str]] = {}
    for module in MODULES.values():
        for node in module.statements:
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [ast.unparse(base).rpartition(".")[2] for base in node.bases]

    def depth(name: str) -> int:
        if name in TORCH_LADDERS:
            return 0
        return 1 + max((depth(base) for base in bases[name] if base in bases and base != name), default=0)

    return {name: depth(name) for name in bases if not name.endswith(("Error", "Warning"))}


def test_class_hierarchies_are_shallow() -> None:
    """No class of ours stands more than two deep, exceptions aside."""
    assert {name: depth for name, depth in class_depths().items() if depth > 2} == {}
