"""Arrays are taken over or added to in place only where nobody else holds them, whatever Python counts."""

from __future__ import annotations

import subprocess
import sys

from retrograd.engine.nodes.edges import getrefcount, never_alone

PROGRAM = """
import sys
if sys.argv[1] == "uncounted":
    sys.getrefcount = lambda _: sys.maxsize
import retrograd as torch
torch.manual_seed(0)
x, w, b = torch.randn(4, 3), torch.randn(2, 3, requires_grad=True), torch.randn(2, requires_grad=True)
seen = []
for _ in range(3):
    hidden = torch.nn.functional.linear(x, w, b)
    hidden.register_hook(seen.append)
    (hidden * hidden + hidden.T.T.exp() + hidden.sum()).sum().backward(retain_graph=True)
print([w.grad.tolist(), b.grad.tolist(), [g.tolist() for g in seen]])
"""


def test_gradients_where_references_are_not_counted() -> None:
    """From Python 3.14 on every array is taken for one that somebody else holds; gradients are the same."""
    assert getrefcount is (sys.getrefcount if sys.version_info < (3, 14) else never_alone)
    assert never_alone(object()) > 1_000
    counted, uncounted = (
        subprocess.run([sys.executable, "-c", PROGRAM, mode], capture_output=True, text=True, check=True).stdout
        for mode in ("counted", "uncounted")
    )
    assert counted == uncounted
    assert counted.startswith("[[[")
