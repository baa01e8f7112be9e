"""Small scripts with one bug each: both engines end them with the same kind of error and say the same first words.

The scripts are not part of this project; name their folder in RETROGRAD_BUG_SCRIPTS to run them.  Beside each ``X.py``
lies ``X.json``, whose ``requires`` is ``both`` where the script's first line may import either engine.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(os.environ.get("RETROGRAD_BUG_SCRIPTS", "/nonexistent"))
SCRIPTS = [
    side.with_suffix(".py")
    for side in sorted(FOLDER.rglob("*.json"))
    if side.with_suffix(".py").exists() and json.loads(side.read_text()).get("requires") == "both"
]


def ending(path: Path, engine: str) -> list[Any]:
    """How a script ends: the type of its error and the words before the first number or punctuation."""
    source = path.read_text().replace("import torch", f"import {engine} as torch", 1)
    printed = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
        except Exception as error:
            return [type(error).__name__, re.split(r"[\d.:(\[]", str(error))[0].strip()]
    return ["", re.sub(r"[-+]?\b[\d.]+(e[-+]\d+)?\b", "#", printed.getvalue())]


@pytest.mark.skipif(not SCRIPTS, reason="RETROGRAD_BUG_SCRIPTS names no folder with scripts")
@pytest.mark.parametrize("path", SCRIPTS or [Path("none")], ids=lambda path: path.stem)
def test_same_ending(path: Path) -> None:
    """Type and first words of the error agree, and without an error what is printed, up to its numbers."""
    pytest.importorskip("torch")
    wanted = ending(path, "torch")
    assert ending(path, "retrograd") == wanted
