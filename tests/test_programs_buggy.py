"""Programs with one bug each: both engines end them with the same kind of error and say the same first words.

Those of ``bug_programs`` always; RETROGRAD_BUG_SCRIPTS may name a folder of others.  Beside each ``X.py`` there lies
``X.json``, whose ``requires`` is ``both`` where the script's first line may import either engine.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import warnings
from pathlib import Path

import pytest
from bug_programs import pairs

RAISING = frozenset({
    "ddp-ready-twice", "deepcopy-nonleaf", "freed-graph", "inference-tensor", "inplace-modified", "leaf-inplace",
    "nondifferentiable", "nonscalar-backward", "wrong-backward-shape",
})  # fmt: skip
"""Kinds whose programs end by an exception, most of them."""
OWN = {pair.name: pair.buggy for pair in pairs() if pair.kind in RAISING and not pair.torch_only}
FOLDER = Path(os.environ.get("RETROGRAD_BUG_SCRIPTS", "/nonexistent"))
OTHERS = {
    side.stem: side.with_suffix(".py").read_text()
    for side in sorted(FOLDER.rglob("*.json"))
    if side.with_suffix(".py").exists() and json.loads(side.read_text()).get("requires") == "both"
}


def ending(text: str, engine: str) -> list[str]:
    """How a program ends: the type of its error and the words before the first number or punctuation."""
    source = text.replace("import torch", f"import {engine} as torch", 1)
    printed = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})
        except Exception as error:
            return [type(error).__name__, re.split(r"[\d.:(\[]", str(error))[0].strip()]
    return ["", re.sub(r"[-+]?\b[\d.]+(e[-+]\d+)?\b", "#", printed.getvalue())]


@pytest.mark.parametrize("text", (OWN | OTHERS).values(), ids=(OWN | OTHERS).keys())
def test_same_ending(text: str) -> None:
    """Type and first words of the error agree, and without an error what is printed, up to its numbers."""
    pytest.importorskip("torch")
    assert ending(text, "retrograd") == ending(text, "torch")
