"""Outputs of a run: checked before the program runs and written after it, with one line on stderr for each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..errors import NotInGraphError, OutputError, UsageError
from ..inspect.output import drawn, save
from ..inspect.recording.events import Recording
from ..inspect.recording.unseen import launched_on, sentences
from ..inspect.render import Demanding, RenderOptions, renderer_for
from ..inspect.render.formats.tree import print_tree
from ..inspect.render.scale import check_level
from ..inspect.writing import STDOUT, check_writable
from .children.gathered import Process
from .launcher import Launch, beside
from .messages import first_stderr, forget_stdout, report_failure, say
from .runner import Ending
from .target import Target


@dataclass(frozen=True, slots=True)
class Output:
    """One file (or standard output) to write; its path is absolute, so that the program may change folder."""

    shown: str
    """The path as typed."""
    path: str
    fmt: str

    def of(self, mark: str) -> Output:
        """Return the output that a process with this mark has instead of this one."""
        suffixes = renderer_for(self.fmt).suffixes
        return Output(beside(self.shown, suffixes, mark), beside(self.path, suffixes, mark), self.fmt)


def plan(paths: tuple[str, ...], fmt: str | None, launch: Launch | None = None) -> list[Output]:
    """Return the outputs to write; raises for an unknown format or a missing folder before the program runs.

    One of several processes of a job writes files of its own: ``run.rank0.json``.
    """
    refuse_one_format(paths, fmt)
    outputs = []
    for shown in paths:
        if launch is not None and shown != STDOUT:
            shown = launch.own(shown, renderer_for(fmt or shown).suffixes)
        path = shown if shown == STDOUT else _whole(shown)
        if os.path.isdir(path):
            check_writable(path)  # says so; its name needs no suffix for that
        renderer = renderer_for(fmt or ("tree" if shown == STDOUT else shown))
        check_writable(path)
        outputs.append(Output(shown, path, renderer.name))
    return outputs


def refuse_one_format(paths: tuple[str, ...], fmt: str | None) -> None:
    """Raise ``UsageError`` where one format is named for several outputs."""
    if fmt is not None and len(paths) > 1:
        raise UsageError("-f names the format of one output, but -o was given more than once.", "Use suffixes instead.")


def check_drawable(outputs: list[Output], options: RenderOptions, level: str) -> None:
    """Raise now, not after hours of running, if the recorded level will lack what is to be drawn."""
    check_level(options.color_by, level)
    for output in outputs:
        renderer = renderer_for(output.fmt)
        if isinstance(renderer, Demanding):
            renderer.demand(options, level)


def absolute(output: str | None) -> str | None:
    """Return an output as an absolute path, since the program may change folder; raises if it cannot be written."""
    if output is None or output == STDOUT:
        return output
    path = _whole(output)
    check_writable(path)
    return path


def _whole(path: str) -> str:
    """Return a path from the root on."""
    try:
        return os.path.abspath(path)
    except OSError as error:
        raise OutputError(f"Could not write {path!r}: the current folder is gone.", "Name a file elsewhere.") from error


def hidden(recording: Recording) -> list[str]:
    """Describe the part of a recording that drawings cannot show."""
    return [*sentences([recording], of=("processes", "regions", "stance")), *launched_on(recording)]


def nothing_recorded(recording: Recording, target: Target, ending: Ending, files: str) -> str:
    """Return the message for a program that made no graph."""
    refused = [
        event.data["error"] for event in recording.events if event.kind == "backward-end" and event.data.get("error")
    ]
    what = f"{target.label} never called backward"
    if refused:
        calls = "the only backward call" if len(refused) == 1 else f"each of {len(refused)} backward calls"
        what = f"{calls} of {target.label} failed ({_first_line(refused[-1])})"
    elif ending.error is not None:
        what = f"{target.label} ended by {type(ending.error).__name__} before it called backward"
    unwritten = f" and {files} {'were' if ', ' in files else 'was'} not written." if files else "."
    hint = "" if recording.level == "full" else " --level full draws what ran forward."
    return f"{what}, so there is no backward graph{unwritten}{hint}"


def _first_line(text: str) -> str:
    """Return the first line of an error, without its full stop."""
    return text.partition("\n")[0].partition(". ")[0].removesuffix(".")


def refuse_overwriting(output: str | None, inputs: Iterable[str], what: str) -> None:
    """Raise ``UsageError`` if an output would overwrite an input; ``what`` describes the inputs."""
    if output in (None, STDOUT) or not os.path.exists(output):
        return
    for path in inputs:
        if path != STDOUT and os.path.exists(path) and os.path.samefile(output, path):
            raise UsageError(f"The output {output!r} is the {what} itself.", "Name another file after -o.")


def write(recording: Recording, outputs: list[Output], options: RenderOptions, *, quiet: bool = False) -> int:
    """Write every output, or the tree to stderr when there is none; return our exit code, 0 if all went well.

    A failure is said in one line and does not keep the other outputs from being written.
    """
    failure = 0
    waiting = list(outputs)
    while waiting:
        output = waiting.pop(0)
        try:
            save(recording, output.path, output.fmt, options)
        except NotInGraphError as missing:
            options = _without(options, missing)
            waiting.insert(0, output)
        except BrokenPipeError:
            forget_stdout()
        except Exception as error:
            code = report_failure(error, output.shown)
            failure = failure or code
        else:
            if not quiet and output.path != STDOUT:
                say(f"wrote {output.shown}{_how_many(recording)}")
    if not outputs:
        failure = _show_tree(recording, options)
    return failure


def refuse_one_stream(paths: Iterable[str | None]) -> None:
    """Raise ``UsageError`` if files of several processes would go to standard output."""
    if STDOUT in paths:
        raise UsageError("--children writes a file for each process, and -o - is one stream.", "Name a file after -o.")


def write_processes(
    processes: Sequence[Process], outputs: list[Output], options: RenderOptions, *, quiet: bool = False
) -> int:
    """Write the outputs of each process that the program started; return our exit code.

    A file of JSON holds whatever was recorded; there is nothing to draw of a process without a backward pass.
    """
    failure, graphless = 0, 0
    for process in processes:
        drawn = bool(process.recording.graphs)
        graphless += not drawn
        own = [output.of(process.mark) for output in outputs if drawn or output.fmt == "json"]
        if drawn and not outputs and not quiet:
            say(f"{process.name}:")
        if own or (drawn and not outputs):
            failure = write(process.recording, own, options, quiet=quiet) or failure
    if graphless and not quiet:
        what = f"{graphless} process{'es' * (graphless != 1)} that the program started"
        say(f"{what} never called backward, so there is no graph of {'it' if graphless == 1 else 'them'}")
    return failure


def _without(options: RenderOptions, missing: NotInGraphError) -> RenderOptions:
    """Return options without a step or scope that the program did not have: it ran, so draw what there is."""
    if missing.option == "step":
        say(f"warning: {missing.message} The last one is drawn. {missing.remedy}")
        return replace(options, step="last")
    say(f"warning: {missing.message} It is left out. {missing.remedy}")
    return replace(options, expand=tuple(one for one in options.expand if one != missing.value))


def _show_tree(recording: Recording, options: RenderOptions) -> int:
    """Print the tree on stderr; return our exit code."""
    try:
        stderr = first_stderr()
        if stderr is not None:
            print_tree(*drawn(recording, options), stderr)
    except NotInGraphError as missing:
        return _show_tree(recording, _without(options, missing))
    except BrokenPipeError:
        pass
    except Exception as error:
        return report_failure(error, "the tree")
    return 0


def _how_many(recording: Recording) -> str:
    """Return a note for recordings with more than one graph."""
    count = len(recording.graphs)
    if not count:
        return " (nothing was differentiated, so it shows the last forward pass)"
    dropped = recording.summarized("runs")
    if dropped:
        kept = f"{count:,} of {count + dropped:,} backward passes were kept in full, and totals of the rest"
        return f" ({kept}; --step picks one, --keep all keeps every one)"
    return f" ({count} backward passes were recorded; --step chooses)" if count > 1 else ""
