"""The tools of the MCP server: each runs a command and returns the JSON that it writes."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from ...errors import RetrogradError, UsageError

LONGEST_RUN = 900.0
"""Longest time limit, in seconds, that a request may set for a program."""
MOST_OUTPUT = 4_000
"""Characters of the program's output that are returned: the last ones."""
MOST_RESULT = 200_000
"""Characters of a result; of a longer one, lists or text are truncated."""


class Workspace:
    """The folder whose files tools may name."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def path(self, name: str) -> Path:
        """Return the file that a tool names, all links followed; raises ``UsageError`` for one outside."""
        found = (self.root / name).resolve()
        if not found.is_relative_to(self.root):
            raise UsageError(
                f"{name!r} is outside of {self.root}.", "Name a file in the folder that the server serves."
            )
        return found

    def existing(self, name: str) -> Path:
        """Return the path of an existing file; raises ``UsageError`` where there is none."""
        found = self.path(name)
        if not found.is_file():
            raise UsageError(f"There is no file {name!r} in {self.root}.", "Name a script or a recording.")
        return found

    async def run(self, arguments: list[str], seconds: float) -> dict[str, Any]:
        """Run ``retrograd ARGUMENTS`` and return its exit code and what it printed.

        It gets no standard input, and a file for all that is printed, so nothing of that reaches the protocol.
        When time is up, or the request is cancelled, everything that it started is killed.
        """
        if not 0 < seconds <= LONGEST_RUN:
            raise UsageError(f"A limit of {seconds} seconds was given.", f"Give at most {LONGEST_RUN:.0f}.")
        with tempfile.TemporaryFile() as printed:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "retrograd", *arguments),
                cwd=self.root,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                start_new_session=True,
            )
            try:
                await asyncio.wait_for(process.wait(), seconds)
            except TimeoutError:
                raise UsageError(
                    f"The program ran for more than {seconds:g} seconds and was ended. It printed: {_end(printed)}",
                    "Give it fewer steps, or more seconds.",
                ) from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
            return {"exit_code": process.returncode, "output": _end(printed)}


def _end(printed: Any) -> str:
    """Return the last ``MOST_OUTPUT`` characters of the program's output."""
    size = printed.seek(0, os.SEEK_END)
    printed.seek(max(size - MOST_OUTPUT, 0))
    return str(printed.read().decode(errors="replace"))


def read_json(path: Path, ran: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON that a command wrote; raises ``UsageError`` with the program's output if it wrote none."""
    if not path.exists() or not path.stat().st_size:
        raise UsageError(f"Nothing was written (exit code {ran['exit_code']}): {ran['output']}", "Fix that first.")
    loaded = json.loads(path.read_text(encoding="utf-8"))
    return loaded if isinstance(loaded, dict) else {"result": loaded}


def bounded(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result of at most ``MOST_RESULT`` characters: lists are halved, longest first, and ``cut`` says so."""
    while len(json.dumps(result)) > MOST_RESULT:
        lists = list(_lists(result))
        longest = max(lists, key=lambda one: len(json.dumps(one)) if len(one) > 1 else 0, default=[])
        if len(longest) < 2:
            return {"cut": True, "text": json.dumps(result)[: MOST_RESULT // 2]}
        del longest[len(longest) // 2 :]
        result["cut"] = True
    return result


def _lists(value: Any) -> list[list[Any]]:
    """Return all lists in a result."""
    found, waiting = [], [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            found.append(one)
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return found


INSTRUCTIONS = (
    "Explains what happens when a PyTorch program calls backward(). `diagnose` names what is wrong, the line that "
    "causes it and an edit that fixes it; `why` answers for one parameter; `trace` returns the backward graph, `stats` "
    "its costs and gradients; `diff` compares two recordings that `trace` wrote. Programs are run, unmodified, by the "
    "interpreter that runs this server."
)
Result = dict[str, Any]


def server(root: Path) -> MCPServer[Any]:
    """Return the server of one folder."""
    made: MCPServer[Any] = MCPServer("retrograd", instructions=INSTRUCTIONS, log_level="ERROR")
    tools = Tools(Workspace(root))
    for tool in (tools.diagnose, tools.why, tools.trace, tools.stats, tools.diff):
        made.add_tool(_answering_refusals(tool), name=tool.__name__)
    return made


def _answering_refusals(tool: Callable[..., Awaitable[Result]]) -> Callable[..., Awaitable[Result]]:
    """Wrap a tool so that a ``UsageError`` is returned to the agent as an answer."""

    @functools.wraps(tool)
    async def answered(*args: Any, **kwargs: Any) -> Result:
        try:
            return await tool(*args, **kwargs)
        except RetrogradError as error:
            raise ToolError(str(error)) from None

    return answered


class Tools:
    """What an agent can ask; every path is relative to the folder that is served, and may not leave it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def diagnose(
        self,
        program: str,
        arguments: list[str] | None = None,
        severity: Literal["error", "warning", "note"] = "note",
        verify: bool = False,
        seconds: float = 120,
    ) -> Result:
        """Run a Python script (or read a recording) and return what is wrong in it, most important first.

        Each finding has kind, severity, message, remedy, file, line, and `edit`: changes of whole lines (file, first,
        last, replacement).  `verify` tries the edits on a copy of the program, which takes one more run for each.
        """
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "findings.json")
            options = ["--severity", severity, "--exit-zero", "-o", str(made), *(["--verify"] if verify else [])]
            ran = await self._on(program, arguments, ["diagnose", *options], seconds)
            return bounded({**read_json(made, ran), **ran})

    async def why(
        self, program: str, parameter: str, arguments: list[str] | None = None, seconds: float = 120
    ) -> Result:
        """Say why the gradient of one parameter (`net.encoder.weight`) is None, zero or not finite.

        Returns the findings that name it, those that are explained by others (`dropped`), and its row of statistics
        in the last backward pass, if it has one.
        """
        with tempfile.TemporaryDirectory() as folder:
            recording, found, table = (Path(folder, f"{name}.json") for name in ("run", "found", "table"))
            ran = await self._on(program, arguments, ["trace", "-q", "--level", "full", "-o", str(recording)], seconds)
            read_json(recording, ran)
            files = ((["diagnose", "--explain", "--exit-zero"], found), (["stats", "--rows", "100000"], table))
            for command, made in files:
                await self._workspace.run([*command, "-o", str(made), str(recording)], seconds)
            findings, statistics = read_json(found, ran), read_json(table, ran)
        return bounded(
            {
                "parameter": parameter,
                "findings": _about(parameter, findings["findings"]),
                "dropped": _about(parameter, findings.get("dropped", [])),
                "gradients": [row for row in _rows(statistics) if _is_called(parameter, row["name"])],
                **ran,
            }
        )

    async def trace(
        self,
        program: str,
        arguments: list[str] | None = None,
        format: Literal["tree", "mermaid", "dot", "json"] = "tree",
        level: Literal["graph", "backward", "full"] = "graph",
        output: str = "",
        seconds: float = 120,
    ) -> Result:
        """Run a Python script (or read a recording) and return its last backward graph as text.

        `output` names a file to write in place of that: .html, .svg, .json (a recording for `diff`), ….
        """
        with tempfile.TemporaryDirectory() as folder:
            kept = self._workspace.path(output) if output else None
            made = kept or Path(folder, "graph")
            before = made.stat().st_mtime_ns if made.exists() else None
            form = [] if output else ["-f", format]
            command = ["render", *form] if program.endswith(".json") else ["trace", "-q", *form, "--level", level]
            ran = await self._on(program, arguments, [*command, "-o", str(made)], seconds)
            if not made.exists() or made.stat().st_mtime_ns == before:
                raise ToolError(f"Nothing was written (exit code {ran['exit_code']}): {ran['output']}")
            if kept:
                return {"file": str(kept.relative_to(self._workspace.root)), **ran}
            text = made.read_text(encoding="utf-8")
        return {"graph": text[:MOST_RESULT], "cut": len(text) > MOST_RESULT, **ran}

    async def stats(
        self, program: str, arguments: list[str] | None = None, rows: int = 20, seconds: float = 120
    ) -> Result:
        """Run a Python script (or read a recording): its slowest nodes, largest saved tensors, and gradients."""
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "stats.json")
            ran = await self._on(program, arguments, ["stats", "--rows", str(rows), "-o", str(made)], seconds)
            return bounded({**read_json(made, ran), **ran})

    async def diff(self, recordings: list[str], seconds: float = 120) -> Result:
        """Compare recordings (`trace` with output=run.json) of two runs, or of ranks: where they diverge."""
        files = [str(self._workspace.existing(name)) for name in recordings]
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "diff.json")
            ran = await self._workspace.run(["diff", "--exit-zero", "-o", str(made), "--", *files], seconds)
            return bounded({**read_json(made, ran), **ran})

    async def _on(self, program: str, arguments: list[str] | None, command: list[str], seconds: float) -> Result:
        """Run a command on a program of the served folder."""
        path = str(self._workspace.existing(program))
        given = ["--", *arguments] if arguments else []
        return await self._workspace.run([*command, path, *given], seconds)


def _about(parameter: str, findings: list[Result]) -> list[Result]:
    """Return the findings that name a parameter in their message or evidence."""
    named = re.compile(rf"(?<![\w.])(?:\w+\.)*{re.escape(parameter)}(?![\w.]*\w)")
    return [one for one in findings if named.search(f"{one['message']} {one['evidence']}")]


def _rows(statistics: Result) -> list[Result]:
    """Return the rows of the last graph's table of gradients."""
    graphs = statistics.get("graphs") or [{}]
    return [row for row in graphs[-1].get("gradients", []) if row.get("name")]


def _is_called(parameter: str, name: str) -> bool:
    """Whether a recorded name refers to a parameter, which may be given without the beginning of its path."""
    return name == parameter or name.endswith(f".{parameter}") or parameter.endswith(f".{name}")
