"""Runs side by side: the first step and node where they part, gradients on some ranks only, the first NaN, hangs."""

from __future__ import annotations

import math
from functools import partial

import pytest
from rank_samples import network, rank, ranks
from recording_samples import chain, hostile

from retrograd.errors import UsageError
from retrograd.inspect.differences import diff
from retrograd.inspect.graphs.graph_diff import GraphDiff
from retrograd.inspect.lineup.endings import next_node
from retrograd.inspect.lineup.lineup import Lineup
from retrograd.inspect.program.places import SourceLine
from retrograd.inspect.recording.events import Event, Recording
from retrograd.inspect.recording.tensor_facts import TensorFacts
from retrograd.inspect.render.diff_text import lineup_lines
from retrograd.inspect.walker import walk


def lined_up(*recordings: Recording) -> Lineup:
    """Compare, as a lineup."""
    found = diff(list(recordings))
    assert isinstance(found, Lineup)
    return found


def test_equal_ranks() -> None:
    """Ranks that did the same do not differ, however many they are."""
    found = lined_up(*ranks(5))

    assert not found
    assert found.ranks
    assert found.names == [f"rank {number}" for number in range(5)]


def test_a_branch_on_one_rank() -> None:
    """Another operator at the second step is found with step, node and line of both sides, and who agrees."""
    group = ranks(4)
    other = group[2].graphs[1]
    other.op[2], other.source[2] = "ReluBackward0", SourceLine("train.py", 90, "forward")
    found = lined_up(*group)
    assert found.divergence is not None
    (one,) = found.divergence.differences

    assert (found.divergence.step, found.divergence.groups) == (1, [[0, 1, 3], [2]])
    assert (one.what, one.runs) == ("operators", [2])
    assert one.here is not None
    assert one.there is not None
    assert (one.here.node, one.here.source, one.there.source) == (
        2,
        SourceLine("train.py", 9, "forward"),
        other.source[2],
    )
    assert "TanhBackward0 → ReluBackward0" in one.detail


@pytest.mark.parametrize(
    ("column", "value", "what"), [("shape", (7, 3), "shapes"), ("dtype", "float64", "dtypes")], ids=["shape", "dtype"]
)
def test_other_shapes_and_dtypes(column: str, value: object, what: str) -> None:
    """Of several nodes with another shape the oldest in the forward run is named."""
    group = ranks(3, steps=1)
    for node in (1, 2, 3):
        getattr(group[1].graphs[0], column)[node] = value
    found = lined_up(*group)
    assert found.divergence is not None
    (one,) = found.divergence.differences

    assert (one.what, one.here and one.here.node) == (what, 3)


def test_a_node_that_did_not_run() -> None:
    """A node of the same graph that ran on one side only is a difference of participation, and of gradients."""
    group = ranks(3)
    group[0].graphs[1].measures["order"][6] = None
    found = lined_up(*group)
    assert found.divergence is not None

    assert found.divergence.groups == [[1, 2], [0]]
    assert [(one.name, one.step, one.runs, one.without) for one in found.partial] == [("w6", 1, (1, 2), (0,))]
    assert found


def test_parameters_that_only_some_graphs_have() -> None:
    """A parameter missing from the graph of two ranks is named with both; DDP's prefix is ignored."""
    group = ranks(4, steps=1)
    group[0].graphs[0].name = [name and f"module.{name}" for name in group[0].graphs[0].name]
    for number in (1, 3):
        group[number].graphs[0].name[7] = "extra"
    found = lined_up(*group)

    assert [(one.name, one.runs) for one in found.partial] == [("extra", (1, 3)), ("w7", (0, 2))]


def test_order_of_gradients_and_hooks() -> None:
    """The same graph whose gradients, or hooks, come in another order is told with the first place that differs."""
    group = ranks(3, steps=1)
    order = group[2].graphs[0].measures["order"]
    order[5], order[6] = order[6], order[5]
    found = lined_up(*group).divergence
    assert found is not None
    assert (found.differences[0].what, found.differences[0].runs) == ("order of gradients", [2])
    assert "number 3 is w5 here and w6 there" in found.differences[0].detail
    hooked = ranks(2, steps=1)
    for number, names in enumerate((["a", "b"], ["b", "a"])):
        events = [Event("hook", op="tensor", data={"action": "ran", "hook": name}) for name in names]
        hooked[number].events[1:1] = events
    again = lined_up(*hooked).divergence
    assert again is not None
    assert again.differences[0].what == "order of hooks"


def test_first_nonfinite_rank() -> None:
    """The rank whose value went bad first, in step and order of execution, comes first, forward before backward."""
    group = ranks(4, steps=3)
    group[1].graphs[1].measures["nan_count"][6] = 2.0
    group[1].graphs[1].measures["nan_count"][3] = 1.0
    group[3].graphs[2].measures["grad_norm"][0] = math.inf
    values = {"output_names": ["h"], "values": {"0": {"nan": 3}}}
    group[2].events.insert(2, Event("operation", op="log", source=SourceLine("train.py", 3, "f"), data=values))
    found = lined_up(*group)

    assert [(one.run, one.place.step, one.phase) for one in found.nonfinite] == [
        (2, 1, "forward"),
        (1, 1, "backward"),
        (3, 2, "backward"),
    ]
    assert [one.place.node for one in found.nonfinite] == [None, 3, 0]
    assert found


def test_norms_before_and_after_the_reduction() -> None:
    """Ranks' own gradients may differ; those left in .grad may not where others became equal; two runs never may."""
    own = ranks(2, steps=1)
    own[1].graphs[0].measures["grad_norm"] = [norm * 1.5 for norm in own[1].graphs[0].measures["grad_norm"]]  # type: ignore[operator]
    may = lined_up(*own)
    assert not may
    assert {gap.expected for gap in may.norms} == {True}
    for number, recording in enumerate(own):
        recording.tensors = [TensorFacts(name="module.w4"), TensorFacts(name="w5")]
        recording.events[-1].data["kept_norms"] = {"0": 3.0 + number, "1": 8.0 + number, "7": 1.0}
    assert not lined_up(*own), "nothing became equal, as inside no_sync()"
    for recording in own:
        recording.events[-1].data["kept_norms"]["0"] = 3.0
    must = lined_up(*own)
    assert [(gap.name, gap.norms, gap.reduced) for gap in must.norms if not gap.expected] == [("w5", (8.0, 9.0), True)]
    assert must
    said = "\n".join(words for words, _ in lineup_lines(must))
    assert "gradient norms of w5 should be equal after the all-reduce of backward pass 0 but are 8, 9" in said
    for recording in own:
        recording.rank = None
    assert {gap.expected for gap in lined_up(*own).norms} == {False}


def test_a_hang_is_explained() -> None:
    """Of a rank stopped inside backward the last finished node and the next are named, by the engine's own order."""
    group = ranks(3, steps=1)
    for number, done in ((1, 3), (2, 0)):
        stuck = network()
        order = stuck.measures["order"]
        stuck.measures["order"] = [place if place is not None and place < done else None for place in order]
        group[number] = rank(number, network(), stuck, stopped=True)
    found = lined_up(*group)
    states = [(one.state, one.last and one.last.node, one.next and one.next.node) for one in found.endings]

    assert states == [("finished", None, None), ("in backward", 2, 4), ("in backward", None, 0)]
    assert found


def test_next_node_is_the_one_that_torch_runs() -> None:
    """Taken one after the other, the nodes said to be next are those that PyTorch runs, in its order."""
    torch = pytest.importorskip("torch")
    x, w = (torch.ones(3, 3, requires_grad=True) for _ in range(2))
    h = torch.tanh(x @ w)
    loss = ((h * w).sum() * h.exp().mean() + torch.stack([h.sin(), w.cos()]).sum()).log()
    snapshot = walk(loss)
    seen: list[int] = []

    def note(number: int, _gradients: object) -> None:
        seen.append(number)

    waiting, known = [loss.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in known:
            known.add(node)
            node.register_prehook(partial(note, node._sequence_nr()))
            waiting += [following for following, _ in node.next_functions]
    loss.backward()
    done: set[int] = set()
    foretold = []
    while (node := next_node(snapshot, done)) is not None:
        done.add(node)
        foretold.append(snapshot.seq[node])
    newest = max(number for number in foretold if number is not None)

    assert [number - newest for number in foretold if number is not None] == [
        number - max(seen[:1]) for number in seen if number <= seen[0]
    ]
    assert len(done) == len(snapshot)


def test_the_node_at_work_is_not_finished() -> None:
    """Where times are known a node that began and has none was at work: it would be next; all begun, all done."""
    stuck = network()
    order = stuck.measures["order"]
    stuck.measures["order"] = [place if place is not None and place < 3 else None for place in order]
    stuck.measures["time_us"] = [1.0 if place is not None and place < 2 else None for place in order]
    through = network()
    through.measures["time_us"] = [1.0 if place != 7 else None for place in order]
    found = lined_up(rank(0, through, stopped=True), rank(1, stuck, stopped=True))

    assert [(one.last and one.last.node, one.next and one.next.node) for one in found.endings] == [(6, None), (1, 2)]


def test_lost_files_of_ranks() -> None:
    """Ranks without a file are named; the only file that is left of a job is explained alone."""
    group = ranks(4)
    found = lined_up(*group[:2])
    assert (found.missing, bool(found)) == ([2, 3], False)
    stuck = network()
    stuck.measures["order"] = [0.0, 1.0, *[None] * 6]
    alone = diff([rank(0, network(), stuck, world=2, stopped=True)])
    assert isinstance(alone, Lineup)
    assert (alone.ranks, alone.missing, bool(alone)) == (True, [1], True)
    said = "\n".join(words for words, _ in lineup_lines(alone))
    assert "stopped in backward pass 1" in said
    assert "no recording of rank 1" in said


def test_an_error_on_one_rank() -> None:
    """A rank that raised is told with its message and line, and the others with the step that it never began."""
    group = ranks(2, steps=2)
    group[1] = rank(1, network())
    line = SourceLine("train.py", 30, "load")
    group[1].events.append(Event("error", source=line, data={"type": "ValueError", "message": "bad batch"}))
    found = lined_up(*group)

    assert (found.endings[1].state, found.endings[1].message) == ("error", "ValueError: bad batch")
    assert found.divergence is not None
    assert (found.divergence.step, found.divergence.differences[0].what) == (1, "steps")
    assert "rank 1 never began" in found.divergence.differences[0].detail


def test_a_long_message_takes_no_page() -> None:
    """An error that lists every parameter is told by its beginning; the JSON form has it whole."""
    message = "missing keys: " + ", ".join(f"layer.{number}" for number in range(2000))
    group = ranks(2, steps=2)
    group[1].events.append(Event("error", data={"type": "RuntimeError", "message": message}))
    found = lined_up(*group)
    told = [line for line, _ in lineup_lines(found) if "RuntimeError" in line]

    assert len(told) == 1
    assert "layer.10" in told[0]
    assert len(told[0]) < 500
    assert found.endings[1].message == f"RuntimeError: {message}"


def test_two_runs_and_two_graphs() -> None:
    """Two recordings without ranks are two runs; two snapshots are compared as graphs; traces are taken as they are."""
    before, after = (Recording(graphs=[chain(5), chain(5)]) for _ in range(2))
    after.graphs[1].shape[2] = (9,)
    found = lined_up(before, after)

    assert not found.ranks
    assert found.step == 1
    assert found.graphs is not None
    assert [node.after for node in found.graphs.nodes] == [2]
    assert isinstance(diff(before.graphs[0], after.graphs[1]), GraphDiff)


def test_what_cannot_be_compared() -> None:
    """One thing alone, or things of other kinds, are refused in one sentence."""
    for wrong in ([], [Recording()], [chain(2), Recording()], 7):
        with pytest.raises(UsageError, match="nothing to compare"):
            diff(wrong)
    assert not diff([Recording(), Recording()])
    assert not diff([Recording(graphs=[hostile()])] * 3)
