"""Figures of gradients, held against NumPy in double precision; reading leaves no trace on the memory."""

from __future__ import annotations

import copy
import gc
import math
import warnings

import numpy as np
import pytest

from retrograd.inspect.process.recorder import recording
from retrograd.inspect.recording.figure_schedule import AT_FIRST
from retrograd.inspect.sources.torch_.values import layout as layout_module
from retrograd.inspect.sources.torch_.values.figures import GradientFigures, Memory
from retrograd.inspect.sources.torch_.values.layout import Layout
from retrograd.inspect.sources.torch_.values.values import Readable

torch = pytest.importorskip("torch")
PIECE = 1 << 14
"""Entries of long gradients that are worked out together."""


def figures_of(tensors, *, whole=True):
    """Figures of gradients by their place in a list, those with a place in memory copied there."""
    dtypes = {torch.float32: "float32", torch.float64: "float64"}
    sorts = enumerate((dtypes.get(tensor.dtype), tensor.numel()) for tensor in tensors)
    layout = Layout((key, sort) for key, sort in sorts if sort[0] and 0 < sort[1] <= PIECE)
    figures = GradientFigures(Readable(), layout, Memory(), whole=whole)
    take = figures.taker()
    for key, tensor in enumerate(tensors):
        take(key, layout.places.get(key), tensor)
    figures.end()
    not_finite = figures.not_finite(range(len(tensors)))
    keys, table = figures.close()
    assert [key in not_finite for key in keys] == [row[5] + row[6] > 0 for row in table]
    return dict(zip(keys, table, strict=True))


def reference(tensor):
    """Norm, extremes, sum, zeros, NaN, infinities and size, worked out with NumPy, of complex numbers' magnitudes."""
    array = np.abs(tensor.resolve_conj().numpy()) if tensor.is_complex() else tensor.double().numpy()
    array = array.astype(np.float64).ravel()
    finite = array[np.isfinite(array)]
    bad = [np.count_nonzero(np.isnan(array)), np.count_nonzero(np.isinf(array))]
    norm = math.nan if bad[0] else math.inf if bad[1] else math.sqrt(np.dot(array, array))
    mean = finite.mean() if finite.size else 0.0
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    return [norm, low, high, mean * array.size, np.count_nonzero(array == 0), *bad, array.size]


def gradients():
    """Gradients of every sort that one run may meet."""
    torch.manual_seed(0)
    usual = torch.randn(8, 16)
    sparse = torch.relu(torch.randn(40, 50))
    bad = usual.clone()
    bad[0, :3] = torch.tensor([math.nan, math.inf, -math.inf])
    return {
        "usual": usual,
        "scalar": torch.tensor(-2.5),
        "transposed": torch.randn(6, 4, 3).permute(2, 0, 1),
        "every other": torch.randn(9, 8)[:, ::2],
        "expanded": torch.randn(3, 1).expand(3, 5),
        "with zeros": sparse,
        "all zero": torch.zeros(7),
        "double": torch.randn(11, dtype=torch.float64),
        "half": torch.randn(9).half(),
        "brain": torch.randn(9).bfloat16(),
        "complex": torch.randn(9, dtype=torch.complex64),
        "conjugate": torch.randn(2, 5, dtype=torch.complex128).conj().t(),
        "complex and bad": torch.tensor([1 + 2j, complex(0.0, math.nan), 0j]),
        "not finite": bad,
        "only NaN": torch.full((4,), math.nan),
        "large entries": torch.tensor([1e25, -3.0]),
        "tiny entries": torch.tensor([1e-30, -1e-41]),
        "long": torch.randn(3 * PIECE + 17),
        "long and bad": torch.cat([torch.randn(2 * PIECE), torch.tensor([math.inf])]),
        "long and zero": torch.zeros(PIECE + 5),
    }


def test_figures_against_numpy():
    """All of one run together, small ones copied side by side."""
    given = gradients()
    table = dict(zip(given, (row for _, row in sorted(figures_of(list(given.values())).items())), strict=True))

    for name, tensor in given.items():
        squares, *others = table[name]
        expected = reference(tensor)
        found = [math.sqrt(squares), *others[:7]]
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-30, nan_ok=True), name
    assert table["tiny entries"][8] == 0.5
    assert not math.isnan(table["usual"][0])


def test_norms_alone_against_numpy():
    """In most runs one pass is made; whatever its sum of squares does not tell to be ordinary gets every figure."""
    given = gradients()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = figures_of(list(given.values()), whole=False)

    for key, (name, tensor) in enumerate(given.items()):
        squares, *others = found[key]
        expected = reference(tensor)
        assert math.sqrt(squares) == pytest.approx(expected[0], rel=1e-4, abs=1e-30, nan_ok=True), name
        assert others[4:7] == pytest.approx(expected[5:]), name
        ordinary = 1e-12 < expected[0] < 1e12 and tensor.dtype in (torch.float32, torch.float64)
        assert [math.isnan(other) for other in others[:4]] == [ordinary] * 4, name
        assert ordinary or others[:4] == pytest.approx(expected[1:5], rel=1e-4, abs=1e-30), name


def test_every_figure_in_some_runs():
    """Of a long program norms are recorded in each run, and the first non-finite gradient in whichever run it comes."""
    with recording(level="backward") as recorded:
        w = torch.ones(5, requires_grad=True)
        for run in range(8):
            w.grad = None
            x = w * 2
            (x.clamp(min=0.0) * (math.inf if run == 6 else 3.0)).sum().backward()
    measures = [snapshot.measures for snapshot in recorded.graphs]
    mul = recorded.graphs[0].op.index("MulBackward0", 2)
    leaves = [event.data["grad"] for event in recorded.events if event.kind == "accumulate"]

    assert [each["grad_norm"][mul] for each in measures if not each["inf_count"][mul]] == pytest.approx([45**0.5] * 7)
    assert [each["inf_count"][mul] for each in measures] == [0] * 6 + [5, 0]
    assert measures[0]["grad_mean"][mul] == measures[AT_FIRST - 1]["grad_mean"][mul] == 3
    assert measures[5]["grad_mean"][mul] is measures[5]["out_zero_share"][mul] is None
    assert ["min" in leaves[0], "min" in leaves[5]] == [True, False]
    assert leaves[6]["inf"] == 5


def test_more_than_fits_at_once(monkeypatch):
    """What waits is worked out when its place is needed; what finds no place is worked out where it arrives."""
    monkeypatch.setattr(layout_module, "_GROUP_BYTES", 1000)
    monkeypatch.setattr(layout_module, "_BYTES", 30_000)
    lengths = [1 + 37 * (place % 30) for place in range(200)]
    found = figures_of([torch.full((length,), float(place)) for place, length in enumerate(lengths)])

    assert [found[key][7] for key in range(200)] == lengths
    assert [found[key][1] for key in range(200)] == [found[key][2] for key in range(200)] == list(range(200))


def test_what_cannot_be_read():
    """Tensors without readable values are passed over; those that only look like others give their own values."""
    readable = Readable()
    negated = torch.tensor([1 + 2j]).conj().imag
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    freed = torch.randn(8)[4:]
    freed.untyped_storage().resize_(0)
    unreadable = [
        *(torch.empty(0, 3), torch.ones(3, dtype=torch.int64), torch.ones(3, device="meta")),
        *(torch._efficientzerotensor(3), torch._to_functional_tensor(torch.randn(3)), negated),
    ]

    assert figures_of(unreadable) == {}
    assert readable.array(freed) is None
    assert readable.array(nested) is None
    assert readable.array(torch.empty(0, 3)).shape == (0, 3)
    assert readable.array(torch.eye(2).to_sparse()).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("level", ["backward", "full"])
def test_memory_can_still_be_resized(level):
    """Programs that free the memory of gradients and activations by resizing it (FSDP does) go on working."""
    with recording(level=level):
        weight = torch.randn(4, 4, requires_grad=True)
        hidden = torch.relu(weight @ weight)
        hidden.sum().backward()
    for tensor in (weight.grad, hidden, weight):
        tensor.untyped_storage().resize_(0)

    assert weight.grad.untyped_storage().nbytes() == 0


def test_results_with_zeros_around_them():
    """What indexing and addition pass on is known without looking: norm and zeros are those of the result."""

    def run():
        x = torch.randn(6, 5, requires_grad=True)
        y = x * 1.0
        torch.manual_seed(1)
        ((y[1:4] * 2).sum() + (y.select(1, 2) * 3).sum() + (y + y * 5).sum()).backward()

    with recording(level="backward") as recorded:
        run()
    (snapshot,) = recorded.graphs
    found = {
        op: (snapshot.measures["out_norm"][row], snapshot.measures["out_zero_share"][row])
        for row, op in enumerate(snapshot.op)
        if op in ("SliceBackward0", "SelectBackward0")
    }

    assert found["SliceBackward0"] == pytest.approx((2 * math.sqrt(15), 0.5))
    assert found["SelectBackward0"] == pytest.approx((3 * math.sqrt(6), 0.8))
    adds = [row for row, shape in enumerate(snapshot.shape) if snapshot.op[row] == "AddBackward0" and shape == (6, 5)]
    assert [snapshot.measures["out_norm"][row] for row in adds] == pytest.approx([math.sqrt(60)])


def test_figures_that_nobody_reads(monkeypatch):
    """What was copied is worked out when it is read or the next run begins, and not at all if nobody can read it."""
    worked, flush = [], GradientFigures._flush
    monkeypatch.setattr(GradientFigures, "_flush", lambda *args: (worked.append(args), flush(*args))[1])

    def step():
        with recording(level="backward") as recorded:
            w = torch.ones(5, requires_grad=True)
            (w * 3).sin().sum().backward()
        return recorded

    gc.collect()
    step()
    step()
    assert worked == []
    kept = step()
    copied = copy.deepcopy(kept.graphs[0])
    assert worked
    assert copied.measures == kept.graphs[0].measures
    before, other = len(worked), step()
    step()
    assert len(worked) > before
    del kept
    assert other.graphs[0].measures["grad_mean"] == copied.measures["grad_mean"]
