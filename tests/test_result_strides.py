"""Strides of results, where operands do not lie row by row, are PyTorch's: of every sample of the operators."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from op_samples import Const, Dtype, all_samples, function_of

import retrograd
from retrograd.engine.core.sig import sig_of

torch = pytest.importorskip("torch")


def _columns(t):
    """The same values with the dimensions in reverse order in memory."""
    turned = tuple(range(t.dim()))[::-1]
    return t.permute(turned).contiguous().permute(turned)


def _channels_last(t):
    """The same values with the second dimension in the place of the last."""
    return t.movedim(1, -1).contiguous().movedim(-1, 1) if t.dim() == 4 else t


def _repeated(t):
    """The first entry of the first dimension, as often as there were entries."""
    return t[:1].expand(t.shape) if t.dim() > 1 else t


LAYOUTS = {"columns": _columns, "channels last": _channels_last}
DIFFERENT = {
    "columns": """
        _log_softmax_backward_data; _softmax_backward_data; addr; angle; as_strided_copy; einsum; float_power;
        linalg.lu; linalg.matrix_power; matrix_power; mvlgamma;
        nn.functional.one_hot; pow; rot90;
        sparse.addmm; special.multigammaln; view_copy
    """,
    "channels last": "",
}
"""Functions whose results lie elsewhere in memory than PyTorch's."""


def _tensors(engine, value, lay):
    if isinstance(value, Const):
        return _tensors(engine, value.array, lay)
    if isinstance(value, Dtype):
        return getattr(engine, value.name)
    if isinstance(value, (np.ndarray, np.generic)):
        return lay(engine.from_numpy(np.array(value, order="C")))
    if isinstance(value, (list, tuple)):
        return type(value)([_tensors(engine, entry, lay) for entry in value])
    if isinstance(value, dict):
        return {key: _tensors(engine, entry, lay) for key, entry in value.items()}
    return value


def _flat(engine, result):
    if isinstance(result, engine.Tensor):
        yield result
    elif isinstance(result, (list, tuple)):
        for entry in result:
            yield from _flat(engine, entry)


def _strides(engine, sample, lay):
    """Shapes and strides of what a sample returns (not of single elements), ``None`` where it is refused."""
    args, kwargs = _tensors(engine, sample.args, lay), _tensors(engine, sample.kwargs, lay)
    try:
        results = list(_flat(engine, function_of(engine, sample)(*args, **kwargs)))
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return None
    told = [t for t in results if t.numel()]
    return [(tuple(t.shape), [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1]) for t in told]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides_of_results(layout):
    found = set()
    for sample in all_samples():
        if layout != "columns" and not _has_images(sample.args):
            continue
        ours, theirs = (_strides(engine, sample, LAYOUTS[layout]) for engine in (retrograd, torch))
        if None not in (ours, theirs) and ours != theirs:
            found.add(sample.name)
    known = set(" ".join(DIFFERENT[layout].split()).split("; ")) - {""}
    assert sorted(found - known) == []
    assert sorted(known - found) == []


def _has_images(args):
    return any(np.ndim(a.array if isinstance(a, Const) else a) == 4 for a in args if not isinstance(a, (list, tuple)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("lay", [lambda t: t, _columns, _repeated])
def test_a_call_knows_in_which_order_its_result_lies(lay):
    """A sample of each operator: the next call leaves NumPy's order where PyTorch has another."""
    lost = set()
    for sample in {s.name: s for s in all_samples()}.values():
        args, kwargs = _tensors(retrograd, sample.args, lay), _tensors(retrograd, sample.kwargs, lay)
        try:
            _, results = (list(_flat(retrograd, function_of(retrograd, sample)(*args, **kwargs))) for _ in range(2))
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            continue
        known = [t for t in results if t.layout is retrograd.strided and t._sig.in_order]
        lost |= {sample.name for t in known if not sig_of(t._array).in_order}
    assert sorted(lost) == []


WRITTEN = {
    "flip": lambda t, x: x.flip(0),
    "index_fill": lambda t, x: x.index_fill(0, t.tensor([0]), 1.0),
    "index_fill of a tensor": lambda t, x: x.index_fill(0, t.tensor([0]), t.tensor(1.0)),
    "select_scatter": lambda t, x: t.select_scatter(x, x[0] * 2, 0, 0),
    "slice_scatter": lambda t, x: t.slice_scatter(x, x[:1] * 2, 0, 0, 1),
    "diagonal_scatter": lambda t, x: t.diagonal_scatter(x, x.diagonal() * 2),
    "as_strided_scatter": lambda t, x: t.as_strided_scatter(x, t.ones(2), (2,), (1,), 1),
}


@pytest.mark.parametrize("call", WRITTEN.values(), ids=WRITTEN)
def test_copies_of_repeated_elements_lie_in_rows(call):
    """V: elements that lie in one place are copied one behind the other, in PyTorch's order."""
    for shape, repeated in [((2, 3), (2, 2, 3)), ((2, 1, 3), (2, 4, 3)), ((2, 3, 1), (2, 3, 4))]:
        ours, theirs = (call(t, t.arange(6.0).reshape(shape).expand(repeated)) for t in (retrograd, torch))
        assert (ours.stride(), ours.is_contiguous()) == (theirs.stride(), theirs.is_contiguous())
        assert ours.tolist() == theirs.tolist()
        assert ours.sin().stride() == theirs.sin().stride()


PARTS = {
    "gaps": lambda t: t.arange(24.0)[::2],
    "behind others": lambda t: t.arange(24.0)[4:],
    "before others": lambda t: t.arange(24.0)[:4],
    "repeated": lambda t: t.arange(6.0).expand(3, 6),
    "columns": lambda t: t.arange(24.0).reshape(4, 6).t(),
    "part in columns": lambda t: t.arange(24.0).reshape(2, 3, 4)[:, :, 1:].transpose(0, 1),
    "element": lambda t: t.arange(24.0)[3],
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_windows_are_written_where_elements_lie_in_memory(part):
    """V: ``as_strided_scatter`` counts in the memory of its operand, and writes nowhere else."""
    windows = [((2,), (5,)), ((2, 2), (7, 2)), ((), ()), ((3,), (1,)), ((2,), (30,)), ((2,), (-1,))]
    for (size, stride), offset in itertools.product(windows, (None, 0, 1, 4, 7, -1)):

        def written(t, size=size, stride=stride, offset=offset):
            try:
                return t.as_strided_scatter(part(t), t.full(size, 99.0), size, stride, offset).tolist()
            except RuntimeError:
                return "refused"

        assert written(retrograd) == written(torch), (size, stride, offset)


def test_gradients_of_windows_written_in_gaps():
    """E: finite differences agree, also where PyTorch refuses."""

    def written(x, src):
        return retrograd.as_strided_scatter(x[::2], src, (2,), (3,), 1)

    operands = [retrograd.ones(n, dtype=retrograd.float64, requires_grad=True) for n in (12, 2)]
    assert retrograd.autograd.gradcheck(written, operands)


SHAPE = (2, 3, 4)
OPERANDS = {
    "rows": lambda t: t.ones(2, 3, 4),
    "columns": lambda t: t.ones(4, 3, 2).permute(2, 1, 0),
    "turned": lambda t: t.ones(3, 2, 4).transpose(0, 1),
    "gaps": lambda t: t.ones(2, 3, 8)[:, :, ::2],
    "gaps in columns": lambda t: t.ones(4, 3, 4).permute(2, 1, 0)[::2],
    "expanded": lambda t: t.ones(3, 1).expand(2, 3, 4),
    "broadcast": lambda t: t.ones(4, 3).t(),
    "broadcast columns": lambda t: t.ones(3, 2).t().unsqueeze(2),
    "number": lambda t: t.ones(()),
}
COMPUTED = {
    "add": lambda t, a, b: a + b,
    "integers": lambda t, a, b: a.long() + b,
    "compare": lambda t, a, b: a < b,
    "where": lambda t, a, b: t.where(a > 0, b, a),
    "addcmul": lambda t, a, b: t.addcmul(a, b, a),
    "hypot": lambda t, a, b: t.hypot(a, b),
    "lgamma": lambda t, a, b: t.lgamma(a),
    "exp": lambda t, a, b: t.exp(a),
    "logical_and": lambda t, a, b: t.logical_and(a, b),
    "mse_loss": lambda t, a, b: t.nn.functional.mse_loss(a.expand(SHAPE), b.expand(SHAPE), reduction="none"),
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", COMPUTED)
def test_the_first_operand_that_tells_decides_the_order(name, grad):
    """As in PyTorch's iteration over several operands; NumPy takes rows where operands disagree."""

    def seen(t, first, second):
        a, b = (OPERANDS[key](t) for key in (first, second))
        if grad:
            b = b * t.ones((), requires_grad=True)
        result = COMPUTED[name](t, a, b)
        strides = [s for s, n in zip(result.stride(), result.shape, strict=True) if n > 1]
        try:
            result.view(-1)
        except RuntimeError:
            return strides, "no view"
        return strides, "a view"

    for first, second in itertools.product(OPERANDS, repeat=2):
        assert seen(retrograd, first, second) == seen(torch, first, second), (first, second)


REDUCED = {
    "sum": lambda t, x: x.sum(1), "mean": lambda t, x: x.mean(1), "prod": lambda t, x: x.prod(1),
    "nansum": lambda t, x: x.nansum(1), "all": lambda t, x: x.all(1), "any": lambda t, x: (x > 1).any(1),
    "amax": lambda t, x: x.amax(1), "aminmax": lambda t, x: x.aminmax(dim=1)[1], "std": lambda t, x: x.std(1),
    "var_mean": lambda t, x: t.var_mean(x, 1)[1], "logsumexp": lambda t, x: x.logsumexp(1),
    "norm": lambda t, x: x.norm(2, 1), "count_nonzero": lambda t, x: x.count_nonzero(1),
    "kept": lambda t, x: x.sum(1, keepdim=True),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCED)
def test_what_is_reduced_lies_in_rows(name):
    """However the operand lies; NumPy keeps its order."""

    def seen(t, grad):
        x = t.arange(24.0).reshape(4, 3, 2).permute(2, 1, 0).requires_grad_(grad)
        return REDUCED[name](t, x).is_contiguous()

    assert (
        [seen(retrograd, grad) for grad in (False, True)] == [seen(torch, grad) for grad in (False, True)] == [True] * 2
    )


def test_a_convolution_has_the_format_of_its_weight():
    """What a model in ``channels_last`` computes has that format, whatever its input has."""

    def seen(t, dtype):
        x, weight = t.ones(2, 4, 5, 6), t.ones(3, 4, 2, 2).contiguous(memory_format=t.channels_last)
        return t.nn.functional.conv2d(x.to(dtype), weight.to(dtype)).stride()

    assert seen(retrograd, retrograd.float32) == seen(torch, torch.float32)
    assert seen(retrograd, retrograd.float64) == seen(torch, torch.float64)


def test_places_of_what_is_not_zero_are_columns_of_one_tensor():
    """``nonzero(as_tuple=True)`` and ``unravel_index`` give views, as PyTorch's do."""

    def seen(t):
        found = [*t.eye(3).nonzero(as_tuple=True), *t.where(t.eye(2) > 0), *t.unravel_index(t.tensor([3, 1]), (2, 2))]
        return [(x.tolist(), x.stride(), x.storage_offset(), x._is_view()) for x in found]

    assert seen(retrograd) == seen(torch)


WRITTEN = {
    "inv": lambda t, a, out: t.linalg.inv(a, out=out), "solve": lambda t, a, out: t.linalg.solve(a, a[:, :2], out=out),
    "cholesky": lambda t, a, out: t.linalg.cholesky(a, out=out), "mm": lambda t, a, out: t.mm(a, a, out=out),
    "exp": lambda t, a, out: t.exp(a[:2].t(), out=out), "sum": lambda t, a, out: t.sum(a, 0, True, out=out),
    "cat": lambda t, a, out: t.cat([a.t(), a.t()], out=out), "add": lambda t, a, out: t.add(a.t(), 1, out=out),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_an_empty_out_gets_the_layout_of_the_result(name):
    """What ``out=`` has no room for lies as the result itself would."""

    def seen(t):
        found = WRITTEN[name](t, t.eye(3) * 2 + 0.1, t.empty(0))
        return found.tolist(), [s for s, n in zip(found.stride(), found.shape, strict=True) if n > 1]

    (ours, lies), (theirs, wanted) = seen(retrograd), seen(torch)
    assert ours == [pytest.approx(row, abs=1e-6) for row in theirs]
    assert lies == wanted


@pytest.mark.parametrize("name", ["heaviside", "floor_divide"])
def test_rows_without_derivative_lie_as_pytorchs(name):
    """As their operands; a sum of such a result knows how it lies, also where the first operand was repeated."""

    def seen(t):
        turned, pair = t.ones(3, 3).t(), getattr(t, name)
        found = [pair(t.ones(3, 1), turned), pair(turned, t.ones(3, 3)), pair(t.ones(3, 3), turned)]
        return [x.stride() for made in found for x in (made, made + t.ones(3, 3), t.ones(3, 3) + made)]

    assert seen(retrograd) == seen(torch)


def test_operands_that_lie_in_different_orders():
    """Which of two operands counts, where each lies in an order of its own."""
    found = []
    for engine in (retrograd, torch):
        columns, rows = engine.ones(3, 2).t(), engine.ones(2, 3)
        found.append([
            getattr(engine, name)(*pair).stride()
            for name in ("add", "sub", "rsub", "isclose", "eq", "xlogy", "nextafter", "fmod", "maximum")
            for pair in ((columns, rows), (rows, columns))
        ])  # fmt: skip
    assert found[0] == found[1]
