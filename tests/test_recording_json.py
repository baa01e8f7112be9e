"""Recordings as JSON: nothing is lost on the way, and whatever is not a recording is refused in one sentence."""

from __future__ import annotations

import json
import math
import random
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording_samples import HOSTILE, chain, diamond, graph, hostile, recording

import retrograd as rg
from retrograd.errors import RecordingError
from retrograd.inspect.graphs.graph import Graph
from retrograd.inspect.output import save
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import SCHEMA, Event, Recording
from retrograd.inspect.recording.loading import decode_recording, load_recording
from retrograd.inspect.recording.tensor_facts import TensorFacts
from retrograd.inspect.render import RenderOptions, renderer_for
from retrograd.inspect.render.formats.json_ import encode_recording


def strictly_parsed(text: str) -> Any:
    """Parse JSON and fail on what JSON does not have."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not valid JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("made", [diamond(), hostile(), chain(300), Graph()], ids=lambda made: f"{len(made)}")
def test_nothing_is_lost(made: Graph, tmp_path: Path) -> None:
    """A recording saved to a file and loaded again equals the one that was saved."""
    path = tmp_path / "run.json"
    before = recording(made, diamond())
    save(before, str(path))

    assert load_recording(str(path)) == before


def test_types_survive() -> None:
    """Shapes come back as tuples and source lines as ``SourceLine``, which equality alone would not tell."""
    after = decode_recording(encode_recording(recording(chain(300), diamond())))

    assert {type(shape) for snapshot in after.graphs for shape in snapshot.shape} == {tuple, type(None)}
    assert type(after.graphs[0].source[299]) is SourceLine
    assert type(after.events[0].source) is SourceLine


def test_not_a_number_survives_in_strict_json() -> None:
    """NaN and infinities are null in the file and themselves again after loading."""
    made = diamond()
    made.measures["nan"] = [math.nan, 1.0, None]
    before = recording(made)
    before.events[1].data["deep"] = [{"worst": math.nan}, math.inf]
    text = encode_recording(before)
    plain = strictly_parsed(text)
    after = decode_recording(text)

    assert plain["snapshots"][0]["measures"]["nan"] == [None, 1.0, None]
    first, *others = after.graphs[0].measures["nan"]
    assert first is not None
    assert math.isnan(first)
    assert others == [1.0, None]
    assert after.graphs[0].measures["grad_norm"] == [1.5, math.inf, None]
    assert math.isnan(after.events[1].data["deep"][0]["worst"])
    assert after.events[1].data["deep"][1] == math.inf
    assert after.events[1].data["norm"] == -math.inf


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=3, max_size=3), st.text(), st.integers())
def test_any_measure_and_name_survive(values: list[float | None], name: str, number: int) -> None:
    """Whatever numbers and words a run produces come back as they were."""
    made = diamond()
    made.measures = {name: values}
    made.name[0] = made.scope[1] = name
    made.seq[0] = number
    before = recording(made)
    text = encode_recording(before)
    strictly_parsed(text)

    assert decode_recording(text.encode("utf-8", "backslashreplace")) == before


def test_foreign_event_data_become_plain() -> None:
    """NumPy numbers and tuples in event data are written as JSON numbers and lists, other objects by their type."""
    data = {"norm": np.float32(0.5), "count": np.int64(3), "shape": (2, 3), "what": object(), 7: True}
    after = decode_recording(encode_recording(Recording(events=[Event("leaf", data=data)])))

    assert after.events[0].data == {"norm": 0.5, "count": 3, "shape": [2, 3], "what": "<object>", "7": True}


def calls_of_one_line(count: int) -> Recording:
    """A recording of calls that one line made, whose data nobody has read."""
    line = SourceLine("train.py", 3, "step")
    stack = [{"file": "train.py", "line": 3, "function": "step"}]

    def data(facts: tuple[int, ...]) -> dict[str, Any]:
        return {"inputs": list(facts), "names": ["h"], "arguments": {"1": 2.5}, "stack": [dict(*stack)]}

    return Recording(
        events=[Event.later("operation", "mul", line, data, (number,)) for number in range(count)],
        tensors=[TensorFacts((3,)) for _ in range(count)],
    )


@pytest.mark.parametrize(
    "value",
    [
        {"inputs": [1, 2], "range": [[0.5, 1.0], None], "arguments": {"1": (2, True, None, "é")}},
        {"checksum": [math.nan, 1.0], "range": [[-math.inf, math.inf]]},
        {"checksum": [np.float32(0.5), np.float64(0.25), np.int64(7)], "value": np.bool_(True)},
        {"reason": object(), "kept": {"x": {1, 2}}, 3: 4},
        {},
    ],
)
def test_an_event_is_written_as_its_values(value: dict[Any, Any]) -> None:
    """The file says of an event what ``to_plain`` does, of whatever its data are."""
    event = Event("operation", "mul", SourceLine("a.py", 3, "f"), value)
    written = strictly_parsed(encode_recording(Recording(events=[event])))["events"]

    assert written == [json.loads(json.dumps(event.to_plain(), allow_nan=False))]


def test_events_of_json_values_are_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events that hold nothing but JSON values, as nearly all do, are written without another copy of these."""
    made = Recording(events=[Event("operation", "mul", data={"inputs": [1], "names": ["x"], "checksum": [0.5]})])
    before = encode_recording(made)
    monkeypatch.delattr(Event, "to_plain")

    assert encode_recording(made) == before


def test_saving_takes_no_memory_for_each_event(tmp_path: Path) -> None:
    """A file of 2,000 events is written piece by piece: in less memory than its text takes."""
    path, made = tmp_path / "run.json", calls_of_one_line(2_000)
    save(calls_of_one_line(1), str(path))
    tracemalloc.start()
    try:
        save(made, str(path))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert most < path.stat().st_size / 2
    assert load_recording(str(path)).events[1_999].data == made.events[1_999].data


def test_events_of_one_line_share_what_is_said_of_it() -> None:
    """Names, arguments and stacks that are equal are one object after loading, of whatever type their numbers are."""
    before = calls_of_one_line(3)
    before.events[1].data["arguments"] = {"1": True}
    before.events[2].data["arguments"] = {"1": 1}
    first, second, third = (event.data for event in decode_recording(encode_recording(before)).events)

    assert first["stack"] is second["stack"] is third["stack"]
    assert first["names"] is third["names"]
    assert (second["arguments"]["1"], type(third["arguments"]["1"])) == (True, int)


def test_infinities_are_put_back_where_they_were() -> None:
    """Events that are equal but for an infinity do not get each other's when they are loaded."""
    values = [math.inf, -math.inf, None]
    before = Recording(events=[Event("operation", "clamp", data={"arguments": {"1": value}}) for value in values])
    after = decode_recording(encode_recording(before))

    assert [event.data["arguments"]["1"] for event in after.events] == values


def test_numpy_numbers_in_columns_are_written() -> None:
    """A source that fills columns with NumPy integers does not break saving."""
    made = diamond()
    made.saved_bytes[0] = np.int64(8)
    made.measures["grad_norm"][0] = np.float32(0.25)
    after = decode_recording(encode_recording(recording(made))).graphs[0]

    assert after.saved_bytes[0] == 8
    assert after.measures["grad_norm"][0] == 0.25


def test_people_can_read_the_file() -> None:
    """Every column and every event stands on a line of its own."""
    lines = encode_recording(recording(diamond())).splitlines()

    assert ' "schema": 1,' in lines
    assert '   "op": ["Op0Backward0","Op1Backward0","AccumulateGrad"],' in [
        line.replace("   ", "   ") for line in lines
    ]
    assert sum('"kind":"inplace"' in line for line in lines) == 1
    assert len(lines) < 50


def test_repeated_values_are_packed() -> None:
    """A long column of few values is stored as the values and small numbers, and costs a few bytes per node."""
    text = encode_recording(recording(chain(10_000)))
    packed = strictly_parsed(text)["snapshots"][0]["op"]

    assert packed["values"] == ["SinBackward0", "MulBackward0"]
    assert len(text) / 10_000 < 60


def test_all_steps_are_written_whatever_is_asked_for() -> None:
    """The JSON file holds every graph, so that ``--step`` can choose later."""
    before = recording(diamond(), chain(3))
    text = renderer_for("json").render(before, RenderOptions(step=0, max_nodes=1))

    assert decode_recording(text) == before


def test_a_deep_chain() -> None:
    """A chain of 200,000 nodes, far deeper than any stack, is encoded and decoded."""
    before = recording(chain(200_000))
    after = decode_recording(encode_recording(before).encode())

    assert after.graphs[0].edge_target == before.graphs[0].edge_target
    assert after == before


def refusal(content: bytes | str) -> str:
    """The sentence with which ``content`` is refused."""
    with pytest.raises(RecordingError) as caught:
        decode_recording(content, "'run.json'")
    message = str(caught.value)
    assert "\n" not in message
    assert caught.value.remedy
    return message


def test_cut_off_anywhere() -> None:
    """A file that was cut at any place is refused as cut off, never half read and never with another exception."""
    whole = encode_recording(recording(diamond(), hostile())).encode("utf-8", "backslashreplace")
    places = random.Random(0).sample(range(1, len(whole) - 2), 400)

    assert {place for place in places if "cut off" not in refusal(whole[:place])} == set()


def test_other_schema() -> None:
    """A recording of another schema is refused with both numbers."""
    plain = json.loads(encode_recording(recording(diamond())))
    plain["schema"] = SCHEMA + 1

    assert f"has schema {SCHEMA + 1}, this retrograd reads {SCHEMA}" in refusal(json.dumps(plain))
    plain["schema"] = {"what": ["ever"]}
    assert "has schema" in refusal(json.dumps(plain))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"digraph { n0 -> n1 }", "is not valid JSON"),
        (b"[1, 2]", "no recording of retrograd"),
        (b'{"nodes": []}', "no recording of retrograd"),
        (b"\xff\xfe\x00\x01", "not UTF-8"),
        (b'{"schema": NaN}', "NaN"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"schema": 1}', "no recording of retrograd"),
        (b'{"schema": 1, "events": []}', "'script' is missing"),
        (b'{"schema": 1' + b"0" * 5000 + b"}", "not a recording"),
    ],
)
def test_no_recording(content: bytes, said: str) -> None:
    """Whatever is not a recording is refused in one sentence that says what it is."""
    assert said in refusal(content)


DAMAGES = {
    "op": [1, 2, 3],
    "kind": ["op"],
    "name": "abc",
    "shape": [[-1], None, None],
    "dtype": {"values": ["float32"], "rows": [0, 0, 9]},
    "scope": {"values": ["a"], "rows": [0, 0, -1]},
    "source": [["train.py", "12", "f"], None, None],
    "saved_bytes": [1.5, 0, 0],
    "seq": ["a", 0, 0],
    "edge_source": [0, 1, 3],
    "edge_target": [0, -1, 1],
    "edge_input_nr": [0, None, 0],
    "edge_output_nr": [0],
    "roots": [99],
    "root_names": [3],
    "measures": {"grad_norm": ["a", 0, 0]},
    "nonfinite": {"grad_norm": [[99, "nan"]]},
    "nodes": -3,
    "label": None,
}


@pytest.mark.parametrize("column", DAMAGES)
def test_damaged_columns(column: str) -> None:
    """A column of the wrong type, length or range is found on loading, not later by a renderer."""
    plain = json.loads(encode_recording(recording(diamond())))
    plain["snapshots"][0][column] = DAMAGES[column]

    assert "is damaged" in refusal(json.dumps(plain))


@pytest.mark.parametrize(("key", "column"), [("measures", "out_norm"), (None, "saved_bytes"), (None, "seq")])
def test_numbers_beyond_those_of_floats(key: str | None, column: str) -> None:
    """Integers that no float can hold are refused: figures of a graph are computed with as floats."""
    plain = json.loads(encode_recording(recording(diamond())))
    snapshot = plain["snapshots"][0]
    (snapshot if key is None else snapshot[key])[column] = [10**400] * snapshot["nodes"]

    assert "is damaged" in refusal(json.dumps(plain))


WRONG_TYPES: dict[str, Any] = {
    "names": "x",
    "arguments": [1],
    "grad": 1,
    "nodes": 3,
    "values": {"0": {"nan": "1"}},
    "range": [[0.0, "</script>"]],
    "checksum": [[]],
    "flat_share": 10**400,
    "version": [-(10**400)],
    "run": 0.5,
    "stack": [{"file": None}],
    "reason": 7,
}
"""Keys of an operation's data with values of types that they never have."""


@pytest.mark.parametrize(
    ("key", "value"),
    [("events", [{}]), ("events", [{"kind": "cut", "data": []}]), ("events", {"a": 1}), ("sources", {"a": {"x": "y"}})]
    + [("snapshots", [None]), ("sources", []), ("script", 3)]
    + [("events", [{"kind": "backward", "data": {"snapshot": number}}]) for number in (1, -1)]
    + [("events", [{"kind": "cut", "data": {}, "nonfinite": [[["a", "b"], "nan"]]}])]
    + [
        ("events", [{"kind": "backward", "data": {"snapshot": {}}}]),
        ("events", [{"kind": "leaf", "data": {"tensor": 0}}]),
    ]
    + [("events", [{"kind": "cut", "data": {key: [7]}}]) for key in ("inputs", "outputs", "saves", "names")]
    + [("events", [{"kind": "cut", "data": {"inputs": "ab"}}])]
    + [("events", [{"kind": "cut", "data": {key: bad}}]) for key, bad in WRONG_TYPES.items()]
    + [("events", [{"kind": "cut", "data": {"range": [pair]}}]) for pair in ([0.0], [0.0, 1.0, 2.0], [0, 10**400])]
    + [("events", [{"kind": "cut", "data": {"nodes": [3]}}])]
    + [("tensors", [{"shape": [10**400], "dtype": "float32"}])]
    + [("tensors", [{"shape": [], "dtype": "float32", "storage": bad}]) for bad in ([], -1, "a", 1.5)],
)
def test_damaged_rest(key: str, value: object) -> None:
    """Events, sources and snapshots of the wrong form are refused, too."""
    plain = json.loads(encode_recording(recording(diamond())))
    plain[key] = value

    assert "is damaged" in refusal(json.dumps(plain))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a folder and an impossible name are refused by name."""
    for path, said in [(tmp_path / "nope.json", "No such file"), (tmp_path, "directory"), ("a\0b", "null")]:
        with pytest.raises(RecordingError, match=said):
            load_recording(str(path))


def test_a_byte_order_mark_is_no_part_of_it(tmp_path: Path) -> None:
    """A file that an editor saved with a byte order mark still loads."""
    path = tmp_path / "run.json"
    path.write_text(encode_recording(recording(diamond())), encoding="utf-8-sig")

    assert load_recording(str(path)) == recording(diamond())


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` reads the recording from standard input."""
    path = tmp_path / "run.json"
    save(recording(diamond()), str(path))
    with path.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert load_recording("-") == recording(diamond())


def test_hostile_names_stay_words() -> None:
    """Every hostile name is found again as that very name."""
    made = graph([(node, node + 1) for node in range(len(HOSTILE) - 1)])
    made.name = list(HOSTILE)

    assert decode_recording(encode_recording(recording(made))).graphs[0].name == list(HOSTILE)


def test_event_described_when_read() -> None:
    """What an event says is made when somebody reads it, once, and then is as if it had been said at once."""
    made = []

    def describe(facts):
        made.append(1)
        return {"inputs": [*facts]}

    event = Event.later("operation", "exp", None, describe, (1,))
    assert not made
    event.kind = "inplace"
    event.data["more"] = True

    assert event == Event("inplace", "exp", None, {"inputs": [1], "more": True})
    assert made == [1]
    with pytest.raises(AttributeError):
        event.nothing


def test_event_described_by_two_threads_at_once() -> None:
    """Who is about to describe an event while another thread does gets its data as well."""

    class Overtaken(Event):
        def __getattribute__(self, name: str) -> Any:
            found = object.__getattribute__(self, name)
            if name == "_describe" and found is not None and overtaking:
                overtaking.pop()
                assert self.data == {"inputs": [1]}  # of the other thread, which has all its turn here
            return found

    overtaking = [True]
    event = Overtaken.later("operation", "exp", None, lambda facts: {"inputs": list(facts)}, (1,))
    assert event.data == {"inputs": [1]}
    assert not overtaking


@pytest.mark.parametrize("engine", ["retrograd", "torch"])
def test_graph_made_before_the_recording(engine: str) -> None:
    """Its nodes are numbered from below zero, and it is read as it was written."""
    module = pytest.importorskip(engine)
    w = module.ones(3, requires_grad=True)
    loss = (w * w).sum()
    with rg.record() as early:
        loss.backward()

    (snapshot,) = decode_recording(encode_recording(early)).graphs
    assert snapshot.first_seq == early.graphs[0].first_seq == -2
