"""Documentation is kept: every public name says what it is for, and the user's names appear in the docs."""

from __future__ import annotations

import ast
import importlib
import re
import runpy
from functools import cache

import click
from source_tree import MODULES, PACKAGE, ROOT, FunctionNode, Module, body_lines

import retrograd

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def public_definitions(module: Module) -> list[Definition]:
    """Top-level functions and classes without a leading underscore, and methods that are not documented by a base."""
    found: list[Definition] = []
    for node in module.tree.body:
        if not isinstance(node, Definition) or node.name.startswith("_"):
            continue
        found.append(node)
        if isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
            own = [item for item in methods if not item.name.startswith("_")]
            found.extend(item for item in own if (node.name, item.name) not in documented_methods())
    return found


@cache
def documented_methods() -> set[tuple[str, str]]:
    """(class, method) for every method with a docstring, and for those that inherit one from a base class of ours."""
    bases: dict[str, list[str]] = {}
    documented: dict[str, set[str]] = {}
    for module in MODULES.values():
        for node in module.statements:
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
                methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
                documented.setdefault(node.name, set()).update(m.name for m in methods if ast.get_docstring(m))
    for _ in range(4):  # more levels than any class of ours has
        for name, parents in bases.items():
            for parent in parents:
                documented[name] |= documented.get(parent, set())
    return {(name, method) for name, methods in documented.items() for method in methods}


def needs_no_docstring(node: ast.AST) -> bool:
    """Overloads and setters are documented where the plain function or the getter is."""
    decorators = [ast.unparse(item) for item in getattr(node, "decorator_list", [])]
    return any(item.endswith(("overload", ".setter", ".deleter")) for item in decorators)


def test_public_definitions_have_docstrings() -> None:
    """Every module and every public function, class and method says what it is for."""
    bare = [module.where for module in MODULES.values() if module.text.strip() and not ast.get_docstring(module.tree)]
    bare += [
        f"{module.where}:{node.lineno} {node.name}"
        for module in MODULES.values()
        for node in public_definitions(module)
        if not needs_no_docstring(node) and not ast.get_docstring(node)
    ]

    assert bare == []


def test_long_functions_say_what_they_do() -> None:
    """So does every function or method of 20 lines or more, also one that is private."""
    bare = [
        f"{module.where}:{node.lineno} {node.name}"
        for module in MODULES.values()
        for scope in (module.tree, *(node for node in module.tree.body if isinstance(node, ast.ClassDef)))
        for node in scope.body
        if isinstance(node, FunctionNode) and body_lines(node) >= 20 and not ast.get_docstring(node)
        if not node.name.endswith("__") and not needs_no_docstring(node)
    ]

    assert bare == []


def test_reference_has_every_public_name() -> None:
    """docs/reference.md lists what a user can reach; `python docs/make_reference.py` brings it up to date."""
    maker = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))
    listed = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")))
    offered = {module: set(maker["public_names"](importlib.import_module(module))) for module in maker["MODULES"]}
    functions = importlib.import_module("retrograd.engine.methods").FUNCTIONS
    operators = {name for name in functions if not name.startswith("_")}

    assert len(operators) > 500
    assert sorted(operators.union(*offered.values()) - listed) == []


def test_every_room_is_in_the_architecture_document() -> None:
    """docs/architecture.md names every folder of the package two levels deep, and every module beside the rooms."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {module.path.parent.relative_to(PACKAGE).parts[:2] for module in MODULES.values()}
    named = {"/".join(room) for room in rooms if room and room[0] not in ("torch_names", "cli")}

    modules = {path.name for path in (ROOT / "retrograd").glob("*.py")}

    assert sorted(room for room in named if f"{room}/" not in text) == []
    assert sorted(module for module in modules if f"`{module}`" not in text) == []


def test_links_in_the_docs_lead_somewhere() -> None:
    """Links and pictures in the Markdown files point at files (those of galleries, made later, `mkdocs` checks)."""
    broken = []
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
            elsewhere = target.startswith(("http:", "https:", "mailto:", "gallery/"))
            if not elsewhere and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(ROOT)} → {target}")

    assert broken == []


FOLDERS = ("", "retrograd", "retrograd/torch_names/retrograd",
           "retrograd/inspect", "retrograd/inspect/sources", "retrograd/inspect/render",
           "retrograd/inspect/diagnosis", "retrograd/engine", "tests", "docs", "benchmarks")  # fmt: skip
"""Where paths in the documents may begin."""
NOT_IN_THE_TREE = ("retrograd/_samples/", ".venv/", "graphs.py")
"""Paths that an installation makes, and a file that whoever runs a benchmark brings."""


def is_in_the_tree(name: str) -> bool:
    """Whether a path, from one of the folders, or a bare file name, from any of them, is that of a file or folder."""
    parts = ("retrograd", "tests", "docs", "benchmarks", "sample_graphs")
    if "/" not in name:
        return any(any((ROOT / part).rglob(name)) for part in parts)
    name = re.sub(r"\.[A-Z]\w*$", "", name)  # a class in a module: `tensors/sig.Sig`
    return any(any((ROOT / folder).glob(name.rstrip("/") + end)) for folder in FOLDERS for end in ("", ".py"))


def test_files_named_in_the_docs_exist() -> None:
    """Every path and file name that stands in backticks is there; `x/y` may leave out where it begins, and `.py`."""
    named = re.compile(r"`([\w.*-]+/[\w./*-]*|[\w*-]+\.(?:py|md|js|json|txt|tsv))`")
    documents = [ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
    documents += [ROOT / "docs" / f"{name}.md" for name in ("architecture", "engine", "decisions", "generated_code")]
    gone = [
        f"{path.name}: {name}"
        for path in documents
        for name in named.findall(re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL))
        if not name.startswith(NOT_IN_THE_TREE) and not is_in_the_tree(name)
    ]

    assert gone == []


def test_example_of_the_engine_runs() -> None:
    """The first example in docs/engine.md is a program that runs, and its comment on the graph is true."""
    text = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert example is not None
    names: dict[str, object] = {}
    exec(compile(example[1], "docs/engine.md", "exec"), names)
    loss = names["loss"]

    assert isinstance(loss, retrograd.Tensor)
    assert loss.grad_fn.next_functions[0][0].name() == "TanhBackward0"


def command_options() -> list[tuple[str, str]]:
    """(command, long option) for every option that a user can give."""
    from retrograd.cli.group import cli

    context = click.Context(cli)
    return [
        (name, option)
        for name in cli.list_commands(context)
        for parameter in (cli.get_command(context, name) or cli).params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
    ]


def test_every_option_is_documented() -> None:
    """docs/usage.md has a section for each command and mentions each option somewhere."""
    text = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")

    assert [name for name, _ in command_options() if f"### `retrograd {name}`" not in text] == []
    assert sorted({option for _, option in command_options() if f"`{option}" not in text}) == []


def test_every_format_is_documented() -> None:
    """docs/usage.md names each renderer with its suffixes."""
    from retrograd.inspect.render import renderers

    text = (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")
    offered = {word for renderer in renderers().values() for word in (renderer.name, *renderer.suffixes)}

    assert sorted(word for word in offered if f"`{word}`" not in text) == []


def test_generated_code_in_the_docs_is_what_is_generated() -> None:
    """docs/generated_code.md shows today's output; `python docs/make_generated_code.py` brings it up to date."""
    maker = runpy.run_path(str(ROOT / "docs" / "make_generated_code.py"))
    text = (ROOT / "docs" / "generated_code.md").read_text(encoding="utf-8")

    assert text.count("<!-- generated: ") == len(maker["examples"]())
    assert maker["page"](text) == text


def test_files_that_the_table_of_tests_names_are_there() -> None:
    """Each name or pattern in CONTRIBUTING.md that says where tests are stands for at least one file."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("### Where tests are")[2].partition("\n#")[0]
    named = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    patterns = [pattern for cell in named for pattern in re.findall(r"`(.+?)`", cell)][1:]

    assert len(patterns) > 50
    assert [p for p in patterns if not [*(ROOT / "tests").glob(p if p.endswith("/") else f"{p}.py")]] == []
