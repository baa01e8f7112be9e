"""The tree: every node once, chains on one level, any width, and no control over the terminal by names."""

from __future__ import annotations

import io
import re

import pytest
from recording_samples import chain, diamond, graph, hostile, recording

from retrograd.errors import OutputError
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.formats.tree import Outline, print_tree


def lines_of(*snapshots: Graph, **asked: object) -> list[str]:
    """The lines of the tree of some graphs."""
    written = renderer_for("tree").render(recording(*snapshots), RenderOptions(**{"fold": (), **asked}))  # type: ignore[arg-type]
    assert isinstance(written, str)
    assert written.endswith("\n")
    return written.splitlines()


def outline(made: Graph, limit: int = 1000) -> list[str]:
    """Rows as short texts: indentation, ``v`` for a continued row, ``>`` for a reference, the node."""
    rows = Outline(made).rows(limit)
    return [f"{'  ' * row.depth}{'v' if row.continues else ''}{'>' if row.reference else ''}{row.node}" for row in rows]


def test_what_a_row_says() -> None:
    """Operator, id, shape, dtype, scope and source line; parameters by name; a second use is a reference."""
    assert lines_of(diamond()) == [
        "loss · backward 0 · 3 nodes · 3 edges · retrograd",
        "├── Op0Backward0 n0  scalar float64  model/head  train.py:12",
        "└── ↓ Op1Backward0 n1  3 complex64  損失.py:3",
        "    ├── w2 n2  model",
        "    └── → w2 n2 output 1 (has its own row)",
    ]


def test_branches_stand_below_and_the_long_one_goes_on() -> None:
    """A linear layer's bias and weight are indented, the next layer continues on the same level."""
    made = graph([(0, 1), (0, 2), (0, 3), (3, 4), (2, 5), (5, 6), (5, 7)], leaves=(1, 4, 6, 7))

    assert outline(made) == ["0", "  1", "  3", "  v4", "v2", "v5", "  6", "  7"]


def test_residual_connection() -> None:
    """The skipped branch is the row itself, the skip a reference, and nothing is indented deeper."""
    made = graph([(0, 1), (0, 3), (1, 2), (2, 3), (3, 4)], leaves=(4,))

    assert outline(made) == ["0", "  >3", "v1", "v2", "v3", "v4"]


def test_many_residual_blocks_stay_on_one_level() -> None:
    """A deep network of residual blocks is not indented deeper block by block."""
    edges = [
        edge for block in range(0, 150, 3) for edge in ((block, block + 1), (block, block + 3), (block + 1, block + 2))
    ]
    edges += [(block + 2, block + 3) for block in range(0, 150, 3)]
    rows = Outline(graph(sorted(edges))).rows(10_000)

    assert max(row.depth for row in rows) == 1
    assert sorted(row.node for row in rows if not row.reference) == list(range(151))


def test_indentation_is_bounded_in_any_graph() -> None:
    """Even in a complete binary tree the indentation grows with the depth only."""
    made = graph([(node, child) for node in range(1023) for child in (2 * node + 1, 2 * node + 2)])
    rows = Outline(made).rows(10_000)

    assert sorted(row.node for row in rows) == list(range(2047))
    assert max(row.depth for row in rows) <= 10


def test_every_node_once_in_random_graphs() -> None:
    """Every node has exactly one row of its own and every edge one row that leads along it."""
    for seed in range(30):
        edges = [(low, high) for high in range(1, 40) for low in range(high) if (low * 7 + high * (seed + 3)) % 11 == 0]
        made = graph(edges + [(0, node) for node in range(1, 40)])
        rows = Outline(made).rows(100_000)

        assert sorted(row.node for row in rows if not row.reference) == list(range(40))
        assert len(rows) == made.edge_count + 1


def test_cycles_end() -> None:
    """A recording with a cycle, which no engine makes, is drawn all the same."""
    assert sorted(outline(graph([(0, 1), (1, 2), (2, 0)]))) == ["  >0", "0", "v1", "v2"]


def test_long_chains_print_capped() -> None:
    """A very deep graph prints 200 rows at one indentation and the number of those not shown."""
    count = 200_000
    lines = lines_of(chain(count))

    assert len(lines) == 202
    assert all(line.startswith("├── ↓ ") for line in lines[2:-1])
    assert lines[-1] == f"└── … {count - 200:,} more nodes not shown"


def test_wide_graphs_print_capped() -> None:
    """A node with very many inputs does not print them all either."""
    lines = lines_of(graph([(0, node) for node in range(1, 5000)]), max_nodes=10)

    assert len(lines) == 12
    assert "4,990 more nodes not shown" in lines[-1]


@pytest.mark.parametrize("width", [1, 10, 33, 80, 300])
def test_any_width(width: int) -> None:
    """Rows go on in the next line where they end at the width (of at least 20), and lose nothing by it."""
    from rich.cells import cell_len

    lines = lines_of(hostile(), width=width)

    assert max(cell_len(line) for line in lines) <= max(width, 20) + 4
    assert _letters(lines) == _letters(lines_of(hostile(), width=1000))


def test_narrow_terminals_show_the_words_of_deep_branches() -> None:
    """Nine branches deep, where 40 columns hold nothing but guides, every node is still named."""
    tree = graph([(node, child) for node in range(255) for child in (2 * node + 1, 2 * node + 2)])
    lines = lines_of(tree, width=40, max_nodes=1000)

    assert _letters(lines) == _letters(lines_of(tree, width=1000, max_nodes=1000))


def _letters(lines: list[str]) -> str:
    """What stands in lines, without guides and spaces, which say nothing."""
    return re.sub(r"[│├└─\s]", "", "".join(lines))


def test_hostile_words_are_only_words() -> None:
    """Markup, emoji codes and control characters in names have no effect."""
    text = "\n".join(lines_of(hostile()))

    assert "[red]bold[/red]" in text
    assert ":smile:" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


def test_files_have_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """The renderer's text has no escape sequences, even where colour is forced on terminals."""
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert "\x1b" not in "\n".join(lines_of(diamond()))


def test_terminals_have_colour_unless_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Printing uses colour on a terminal, none into a pipe and none with NO_COLOR."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal, pipe = Terminal(), io.StringIO()
    print_tree(recording(diamond()), file=terminal)
    print_tree(recording(diamond()), file=pipe)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    print_tree(recording(diamond()), file=plain)

    colours = r"\x1b\[[0-9;]*3[0-9]"
    assert re.search(colours, terminal.getvalue())
    assert "\x1b" not in pipe.getvalue()
    assert not re.search(colours, plain.getvalue())


def test_narrow_encodings() -> None:
    """A terminal that knows only ASCII gets plain signs for ours and escapes for the program's, not an exception."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    print_tree(recording(diamond()), file=out)
    text = raw.getvalue().decode("ascii")

    assert "+-- Op0Backward0" in text
    assert "\\u640d" in text
    assert re.search(r"^loss - backward 0 - \d nodes", text)
    assert not re.search(r"\\xb7|\\xd7|\\u25cf", text)


def test_a_full_disk_is_our_error() -> None:
    """Printing where nothing can be written is an OutputError in one sentence."""

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left"):
        print_tree(recording(diamond()), file=Full())


def test_several_graphs_follow_each_other() -> None:
    """With ``--step all`` the trees stand below each other."""
    lines = lines_of(diamond(), chain(2), step="all")

    assert [line for line in lines if " · " in line] == [
        "loss · backward 0 · 3 nodes · 3 edges · retrograd",
        "loss · 2 nodes · 1 edge · retrograd",
    ]


def test_a_measure_is_shown() -> None:
    """``color_by`` writes the measure's value into the rows."""
    assert "  saved for backward 48 B  " in lines_of(diamond(), color_by="saved_bytes")[2]
    for name in ("time", "time_us"):
        assert "time in backward 0.1 µs" in lines_of(diamond(), color_by=name)[2]
