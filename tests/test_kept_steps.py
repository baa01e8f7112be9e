"""Of a long program some steps are kept, of the others sums; what is left is a recording like any other."""

from __future__ import annotations

import subprocess
import sys

import pytest
from bug_programs import pairs, record
from long_programs import lengthened

from retrograd.inspect.diagnosis import diagnose
from retrograd.inspect.recording.event_data import (
    BY_TENSOR_KEYS,
    ROW_KEYS,
    TENSOR_KEYS,
    TENSOR_OF_NAME_KEYS,
    TENSORS_KEYS,
)
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.recording.loading import decode_recording, load_recording
from retrograd.inspect.render.formats.json_ import encode_recording

STATEFUL = """
import torch

torch.manual_seed(0)
cell, head = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
h = torch.zeros(4, 3)
total = 0.0
for step in range({steps}):
    x = torch.randn(4, 2)
    handle = head.weight.register_hook(lambda grad: None)
    h = cell(x, h.detach())
    loss = (head(h) - x.sum(1, keepdim=True)).pow(2).mean()
    if step in {odd}:
        loss = loss + h.abs().sum() * 0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += float(loss.detach())
    handle.remove()
"""
"""A state, a loss and a hook cross the line between two steps."""


def kept(steps: int, tmp_path, keep: int | None = None, odd: tuple[int, ...] = ()) -> Recording:
    """The recording of that program, on our engine."""
    return record(STATEFUL.format(steps=steps, odd=odd), tmp_path, engine="retrograd", keep=keep)


def runs(recorded: Recording) -> list[int]:
    """The numbers of the backward runs of which everything is kept."""
    return [event.data["run"] for event in recorded.events if event.kind == "backward"]


def summaries(recorded: Recording) -> list[Event]:
    """What stands for the others."""
    return [event for event in recorded.events if event.kind == "summary"]


def told(recorded: Recording) -> list[tuple[object, ...]]:
    """What happened, with tensors by number in the order in which they come up, without numbers of nodes and runs."""
    seen: dict[object, int] = {}

    def nth(number: object) -> int:
        return seen.setdefault(number, len(seen))

    found = []
    for event in recorded.events:
        data = event.data
        tensors = [nth(data[key]) for key in ("tensor", "target") if data.get(key) is not None]
        for key in ("inputs", "outputs", "saves", "roots"):
            tensors += map(nth, data.get(key) or ())
        made = [recorded.tensors[n].made_by is not None for n in data.get("inputs") or ()]
        hook = nth(("hook", data["handle"])) if "handle" in data else None
        if event.kind != "summary":
            found.append(
                (event.kind, event.op, event.source, data.get("action"), data.get("before"), tensors, made, hook)
            )
    return found


def test_a_short_program_is_kept_as_it_is(tmp_path):
    """Nothing is dropped of a program of no more steps than are to be kept."""
    assert told(kept(20, tmp_path, keep=20)) == told(kept(20, tmp_path))


def test_what_is_left_is_the_recording_of_a_shorter_program(tmp_path):
    """First and last steps and a sample are kept, no more than asked for, and events tell what they do of so few steps.

    State, loss and hooks of a step that was dropped give way to those of the kept step in its place.
    """
    recorded = kept(90, tmp_path, keep=16)
    left = runs(recorded)

    assert left[:4] == [0, 1, 2, 3]
    assert left[-4:] == [86, 87, 88, 89]
    assert 10 <= len(left) <= 16 + 4
    assert len(recorded.graphs) == len(left)
    assert told(recorded) == told(kept(len(left), tmp_path))


def numbers_told(recorded: Recording) -> list[tuple[str, dict[str, object]]]:
    """Whole numbers in what events hold, apart from those that count the whole program, and from known ones."""
    counting = {
        "run",
        "nodes",
        "node",
        "version",
        "thread",
        "handle",
        "arguments",
        "checksum",
        "stack",
        "grad",
        "range",
    }
    counting |= {*ROW_KEYS, *TENSOR_KEYS, *TENSORS_KEYS, *TENSOR_OF_NAME_KEYS, *BY_TENSOR_KEYS}

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [plain(one) for one in value]
        return value if isinstance(value, int) else None

    return [
        (event.kind, {key: plain(value) for key, value in event.data.items() if key not in counting})
        for event in recorded.events
        if event.kind != "summary"
    ]


def test_every_number_of_a_tensor_is_counted_anew(tmp_path):
    """No key of an event holds a number that grows with the program but those that ``event_data`` lists."""
    recorded = kept(90, tmp_path, keep=16)
    for mine, other in zip(numbers_told(recorded), numbers_told(kept(len(runs(recorded)), tmp_path)), strict=True):
        assert mine == other


def test_summaries_tell_of_all_that_was_dropped(tmp_path):
    """Steps and runs add up, and the norms of gradients are those of the runs between."""
    recorded, whole = kept(90, tmp_path, keep=16), kept(90, tmp_path)
    dropped = sorted(set(runs(whole)) - set(runs(recorded)))
    norms: dict[int, list[float]] = {}
    for event in whole.events:
        if event.kind == "accumulate" and event.data["run"] in dropped:
            norms.setdefault(event.data["tensor"], []).append(event.data["grad_norm"])
    told_of = [event.data["norms"] for event in summaries(recorded)]

    assert sum(event.data["runs"] for event in summaries(recorded)) == len(dropped)
    assert all(event.data["continuous"] for event in summaries(recorded))
    names = {tensor.name: number for number, tensor in enumerate(whole.tensors) if tensor.parameter}
    for number, tensor in enumerate(recorded.tensors):
        if tensor.parameter:
            mine = [figures[str(number)] for figures in told_of]
            true = norms[names[tensor.name]]
            assert sum(figures[0] for figures in mine) == len(true)
            assert (min(figures[1] for figures in mine), max(figures[2] for figures in mine)) == (min(true), max(true))
            assert sum(figures[0] * figures[3] for figures in mine) == pytest.approx(sum(true))


def test_a_step_that_is_like_none_before_is_kept(tmp_path):
    """A step of other calls is kept wherever it stands; the second one like it need not be."""
    assert {37, 61} & set(runs(kept(90, tmp_path, keep=16))) != {37, 61}
    assert 37 in runs(kept(90, tmp_path, keep=16, odd=(37, 61)))


def test_a_step_that_goes_wrong_is_kept(tmp_path):
    """The first gradient that is not finite is kept with its step, of hundreds."""
    text = """
import torch

torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
for step in range(300):
    x = torch.randn(3).abs()
    if step == 171:
        x[1] = 0.0
    loss = ((w * x) ** 2).sqrt().sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.001 * torch.nan_to_num(w.grad)
        w.grad = None
"""
    recorded = record(text, tmp_path, engine="retrograd", keep=16)

    assert 171 in runs(recorded)
    assert len(recorded.events) < 16 * 24
    assert "nan-origin" in {finding.kind for finding in diagnose(recorded)}


def test_reading_on_the_way_changes_nothing(tmp_path):
    """What a program reads of its own recording while it runs is numbered from 0 each time, and the end is the same."""
    import retrograd as rg

    seen = []
    with rg.debug(keep=8) as trace:
        w = rg.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(60):
            (w * w).sum().backward()
            w.grad = None
            number = trace.number(w)
            seen.append((len(trace.recording.events), trace.recording.tensors[number].name))
    assert {name for _, name in seen} == {"w"}
    assert max(count for count, _ in seen) < 8 * 16
    assert [event.kind for event in trace.recording.events].count("summary") == len(summaries(trace.recording)) > 0
    again = decode_recording(encode_recording(trace.recording))
    assert told(again) == told(trace.recording)


LONG = [
    "graph_growth_joined_curve", "graph_growth_least_so_far", "hook_leak_module", "missing_create_graph_matching",
    "missing_zero_grad_of_layers", "optimizer_mismatch_rate_of_zero",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LONG)
def test_long_programs_are_explained_as_when_all_is_kept(name, tmp_path):
    """Programs whose loops go round often give the same findings at the same lines, buggy and healthy ones."""
    (pair,) = [pair for pair in pairs() if pair.name == name]
    for text in (pair.buggy, pair.healthy):
        long = lengthened(text, 70)
        assert long is not None
        few, all_of_it = (record(long, tmp_path, engine="retrograd", keep=keep) for keep in (24, None))
        assert summaries(few)
        assert not summaries(all_of_it)
        found, wanted = ({(one.kind, one.line) for one in diagnose(one)} for one in (few, all_of_it))
        assert found == wanted


def test_the_command_says_how_much_was_kept(tmp_path):
    """``trace --keep`` writes a file of few steps and says so; ``render --step`` takes numbers of backward runs."""
    script, file = tmp_path / "train.py", tmp_path / "run.json"
    script.write_text(STATEFUL.format(steps=60, odd=()).replace("import torch", "import retrograd as torch"))

    def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "retrograd", *arguments]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    traced = run_command("trace", "--level", "full", "--keep", "8", "-o", str(file), str(script))
    loaded = load_recording(str(file))
    refused = run_command("render", str(file), "--step", "30", "-o", str(tmp_path / "a.svg"))
    drawn = run_command("render", str(file), "--step", "58", "-o", str(tmp_path / "b.txt"), "-f", "tree")

    assert (traced.returncode, drawn.returncode) == (0, 0)
    assert f"{len(loaded.graphs)} of 60 backward passes were kept in full" in traced.stderr
    assert "The graph of backward pass 30 was not kept" in refused.stderr
    assert "backward 58" in (tmp_path / "b.txt").read_text()
    assert not (tmp_path / "a.svg").exists()
    assert run_command("trace", "--keep", "few", str(script)).returncode == 2
