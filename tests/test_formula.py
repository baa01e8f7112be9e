"""Rules read as formulas: rules that call each other end, and nobody's profiler is lost on the way."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import retrograd as rg
from retrograd.engine.registry import OPS
from retrograd.engine.row_node import rule_formula

def watch(frame, event, argument):
    pass

x = rg.ones(3, requires_grad=True)
sys.setprofile(watch)
rg.sin(x).sum().backward()
print(sys.getprofile() is watch, x.grad.tolist() == rg.cos(x).tolist())
sys.setprofile(None)
for name in ("sin", "cos", "sinh", "cosh"):
    formula, _ = rule_formula(OPS[name], "self")
    print(name, [step.function for step in formula.steps])
"""


def test_rules_that_call_each_other_are_read_once() -> None:
    """sin's rule calls cos, whose rule calls sin: reading one must not make the other's node, and so on for ever."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=True)

    assert ended.stdout.splitlines() == [
        "True True",
        "sin ['cos', 'multiply']",
        "cos ['sin', 'negative', 'multiply']",
        "sinh ['cosh', 'multiply']",
        "cosh ['sinh', 'multiply']",
    ]
