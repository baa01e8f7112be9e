"""Write docs/reference.md, the list of all public names, from their docstrings: `python docs/make_reference.py`.

A test compares the names in it with what the package offers, so it cannot fall behind unnoticed.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

REFERENCE = Path(__file__).resolve().parent / "reference.md"

MODULES = (
    "retrograd",
    "retrograd.inspect",
    "retrograd.autograd",
    "retrograd.autograd.graph",
    "retrograd.autograd.functional",
    "retrograd.autograd.forward_ad",
    "retrograd.nn.functional",
    "retrograd.utils.checkpoint",
    "retrograd.library",
)

HEAD = """# Reference

Every public name, with the first line of its documentation (`help(name)` shows the rest).
Written by `python docs/make_reference.py`; do not edit by hand.

What has a name of PyTorch's behaves as it does there. `import retrograd as torch` is how it is meant to be used.
"""


def public_names(module: ModuleType) -> list[str]:
    """Names that a user may take from a module: no underscore, not a module, not imported from elsewhere."""
    offered = set(dir(module)) | set(getattr(module, "__all__", ()))
    return sorted(
        name
        for name in offered - {"TYPE_CHECKING"}
        if not name.startswith("_") and _is_ours(getattr(module, name, None))
    )


def _is_ours(value: Any) -> bool:
    """Whether something was made by this package: standard library and NumPy objects are not."""
    if inspect.ismodule(value) or value is None:
        return False
    home = getattr(value, "__module__", None) or type(value).__module__
    return bool(home.split(".")[0] in ("retrograd", "builtins"))


def summary(value: Any) -> str:
    """The first line of what something says about itself; for a plain value, the value."""
    if not (callable(value) or inspect.isclass(value)):
        return f"`{value!r}`"
    text = inspect.getdoc(value) or ""
    return text.partition("\n")[0].replace("|", "\\|")


def rows(module: ModuleType) -> Iterator[str]:
    """The table of one module."""
    yield "| name | what it is |\n|---|---|"
    for name in public_names(module):
        yield f"| `{name}` | {summary(getattr(module, name))} |"


def tensor_methods() -> str:
    """The names of Tensor's methods and attributes, in one paragraph."""
    tensor = importlib.import_module("retrograd").Tensor
    return ", ".join(f"`{name}`" for name in dir(tensor) if not name.startswith("_"))


def text() -> str:
    """The whole document."""
    parts = [HEAD]
    for name in MODULES:
        module = importlib.import_module(name)
        parts += [f"\n## {name}\n", f"{(module.__doc__ or '').strip().splitlines()[0]}\n", *rows(module)]
    parts += ["\n## Methods and attributes of `Tensor`\n", tensor_methods()]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    REFERENCE.write_text(text(), encoding="utf-8")
    print(f"{REFERENCE.name}: {len(REFERENCE.read_text(encoding='utf-8').splitlines())} lines")
