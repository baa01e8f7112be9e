"""`retrograd mcp`, asked by the package's own client over a pipe."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from source_tree import ROOT

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters

DETACHED = """\
import retrograd as torch
import sys

w = torch.ones(3, requires_grad=True)
b = torch.zeros(3, requires_grad=True)
h = (w * 2.0).detach()
loss = (h + b).sum()
loss.backward()
print('{"jsonrpc": "2.0", "id": 1, "result": {}}', sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with programs, and one beside it."""
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.py").write_text("print('outside')")
    place = tmp_path / "work"
    (place / "train.py").write_text(DETACHED)
    (place / "endless.py").write_text("import time\nprint('began', flush=True)\ntime.sleep(600)")
    (place / "loud.py").write_text("print('x' * 10_000_000)")
    (place / "link.py").symlink_to("../secret.py")
    return place


def ask(folder: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Start the server, call tools in turn, and return their results."""

    async def session() -> list[Any]:
        environment = {"PYTHONPATH": str(ROOT), "HOME": str(folder), "OMP_NUM_THREADS": "1"}
        words = ["-m", "retrograd", "mcp", str(folder)]
        async with Client(StdioServerParameters(command=sys.executable, args=words, env=environment)) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"diagnose", "why", "trace", "stats", "diff"}
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(session())


def test_tools_answer_with_the_json_of_the_commands(folder: Path) -> None:
    """Findings with their edit, one parameter's, the graph, costs, a comparison; what programs print is only quoted."""
    program = {"program": "train.py"}
    results = ask(
        folder,
        ("diagnose", {**program, "arguments": ["--epochs", "3"]}),
        ("why", {**program, "parameter": "w"}),
        ("trace", program),
        ("trace", {**program, "output": "a.json", "level": "full"}),
        ("stats", {"program": "a.json"}),
        ("diff", {"recordings": ["a.json", "a.json"]}),
    )
    assert [result.is_error for result in results] == [False] * 6, results
    found, why, tree, written, stats, diff = [result.structured_content for result in results]

    (finding,) = found["findings"]
    assert (finding["kind"], finding["line"]) == ("broken-chain", 6)
    (change,) = finding["edit"]["changes"]
    assert (change["first"], change["last"], change["replacement"]) == (6, 6, ["h = w * 2.0"])
    assert "['--epochs', '3']" in found["output"]
    assert [one["kind"] for one in why["findings"]] == ["broken-chain"]
    assert "train.py:7" in tree["graph"]
    assert written["file"] == "a.json"
    assert stats["graphs"][0]["nodes"] == 3
    assert diff["exit_code"] == 0


@pytest.mark.parametrize("name", ["../secret.py", "link.py", "/etc/hostname", "gone.py"])
def test_files_outside_are_refused(folder: Path, name: str) -> None:
    """Neither a path nor a link leads out of the folder, for reading or for writing."""
    outside = ("trace", {"program": "train.py", "output": f"../{os.path.basename(name)}.svg"})
    for result in ask(folder, ("diagnose", {"program": name}), outside):
        assert result.is_error
        assert "outside" in result.content[0].text or "There is no file" in result.content[0].text
    assert not list(folder.parent.glob("*.svg"))


def test_time_and_output_are_limited(folder: Path) -> None:
    """A program that does not end is killed and says what it printed; of a loud one the end is quoted."""
    late, loud = ask(
        folder, ("diagnose", {"program": "endless.py", "seconds": 3}), ("diagnose", {"program": "loud.py"})
    )

    assert late.is_error
    assert "more than 3 seconds" in late.content[0].text
    assert "began" in late.content[0].text
    assert len(str(loud.structured_content)) < 6_000


def test_long_results_are_cut() -> None:
    """Lists are halved until the whole fits, and that is said."""
    from retrograd.cli.agents.server import MOST_RESULT, bounded

    long = {"findings": [{"message": "x" * 100} for _ in range(10_000)], "schema": 1}
    short = bounded(long)

    assert short["cut"]
    assert 1_000 < len(short["findings"]) < MOST_RESULT / 100
    assert bounded({"schema": 1}) == {"schema": 1}
