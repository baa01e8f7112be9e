"""Snapshots and recordings made by hand, for the tests of what reads them: hostile names, chains, small shapes."""

from __future__ import annotations

import math

from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording, called

HOSTILE = (
    "</script><b>x</b>",
    'q"uo\\"te',
    "back\\slash\\",
    "new\nline\r\n",
    "[red]bold[/red]",
    "<lambda>",
    "<b>bold</b>",
    "a:b:c",
    "n1:port:s",
    "損失∇",
    "nul\x00ctl\x1b[31m",
    "&lt;amp&amp;",
    "\udc80sur",
    "%%{init: x}%%",
    "end",
    "`md`",
    "#quot;",
    "{{x}}",
    "x" * 30000,
    "",
    "\\N\\G\\L",
    "|record|{a}",
    "\u202eevil",
    "-->|x|",
    ":smile:",
    "\\",
    '"',
)
"""Names that some output format would misread if they reached it as they are."""


def graph(edges: list[tuple[int, int]], leaves: tuple[int, ...] = ()) -> Graph:
    """A graph whose nodes are the numbers that ``edges`` mention; inputs are numbered in the order given."""
    count = max((max(edge) for edge in edges), default=0) + 1
    used = [0] * count
    numbers = []
    for source, _ in edges:
        numbers.append(used[source])
        used[source] += 1
    return Graph(
        op=["AccumulateGrad" if node in leaves else f"Op{node}Backward0" for node in range(count)],
        kind=["leaf" if node in leaves else "op" for node in range(count)],
        name=[f"w{node}" if node in leaves else None for node in range(count)],
        scope=[""] * count,
        shape=[(2, 3)] * count,
        dtype=["float32"] * count,
        source=[None] * count,
        saved_bytes=[None] * count,
        seq=[None if node in leaves else count - node for node in range(count)],
        edge_source=[source for source, _ in edges],
        edge_target=[target for _, target in edges],
        edge_input_nr=numbers,
        edge_output_nr=[0] * len(edges),
        roots=[0],
        root_names=["loss"],
    )


def chain(count: int) -> Graph:
    """``count`` operators in a row."""
    ops = (["SinBackward0", "MulBackward0"] * (count // 2 + 1))[:count]
    return Graph(
        op=ops,
        kind=["op"] * count,
        name=[None] * count,
        scope=["body"] * count,
        shape=[(4,)] * count,
        dtype=["float32"] * count,
        source=[SourceLine("loop.py", 7, "step")] * count,
        saved_bytes=[16] * count,
        seq=list(range(count, 0, -1)),
        edge_source=list(range(count - 1)),
        edge_target=list(range(1, count)),
        edge_input_nr=[0] * (count - 1),
        edge_output_nr=[0] * (count - 1),
        roots=[0],
        root_names=["loss"],
    )


def hostile() -> Graph:
    """A chain whose every word is hostile, operator names and file names included."""
    made = chain(len(HOSTILE))
    made.name = list(HOSTILE)
    made.op = [name or "Op" for name in reversed(HOSTILE)]
    made.scope = [HOSTILE[-1], *HOSTILE[:-1]]
    made.source = [SourceLine(name[:60], line, name[:60]) for line, name in enumerate(HOSTILE)]
    made.dtype = list(HOSTILE)
    made.label = made.root_names[0] = '</script>"<b>\n'
    made.kind[-1] = "leaf"
    return made


def diamond() -> Graph:
    """``x * x`` of a leaf, with every kind of value that a column can hold."""
    made = graph([(0, 1), (1, 2), (1, 2)], leaves=(2,))
    made.label = "backward 0"
    made.shape = [(), (3,), None]
    made.dtype = ["float64", "complex64", None]
    made.source = [SourceLine("train.py", 12, "main"), SourceLine("損失.py", 3, "<module>"), None]
    made.scope = ["model/head", "", "model"]
    made.saved_bytes = [0, 48, None]
    made.edge_output_nr = [0, 0, 1]
    made.measures = {"grad_norm": [1.5, math.inf, None], "time_us": [-math.inf, 0.1, 2.0]}
    return made


def recording(*snapshots: Graph) -> Recording:
    """A recording of the given graphs with a few events."""
    line = SourceLine("train.py", 12, "main")
    return Recording(
        script="train.py",
        engine="torch",
        created="2026-01-02T03:04:05",
        graphs=list(snapshots),
        events=[
            Event("backward", source=line, data={"snapshot": 0} if snapshots else {}),
            called("inplace", "add_", line, {"versions": [0, 1], "norm": -math.inf, "near": {"x": None}}),
            Event("backward-end"),
        ],
        sources={"train.py": {12: "loss = (x * x).sum()  # 損失 </script>"}},
    )
