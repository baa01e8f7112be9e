"""Calls as PyTorch's documentation of its functions shows them: results, their strides and graphs, and refusals."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from both_engines import assert_same, plain

import retrograd

torch = pytest.importorskip("torch")

CALLS = """
asarray(x); asarray(x, requires_grad=False); asarray(x, requires_grad=True); asarray(x * 2); asarray(x, copy=True)
asarray(x * 2, requires_grad=False); asarray(x * 2, dtype=t.float64); asarray(c, copy=False)
asarray(c, dtype=t.float64); asarray(c, copy=False, dtype=t.float64); asarray([1.0], copy=False)
asarray(np.ones(3), copy=False); asarray(3); asarray(np.ones(3), dtype=t.float32, copy=False); asarray(np.ones(3))
asarray(np.float64(3)); asarray(3.5); asarray(np.float64(3), copy=False); asarray([1, 2], requires_grad=True)
asarray([1, 2], dtype=t.float32, device="cpu"); asarray(bytearray(b"12345678"), dtype=t.int32)
asarray(bytearray(b"12345678")); asarray(b"1234", dtype=t.uint8); asarray(bytearray(b"123"), dtype=t.int32)
asarray([[1, 2], [3]]); asarray(None); asarray(c, t.float64)
frombuffer(bytearray(b"12345678"), dtype=t.int32, offset=2)
frombuffer(bytearray(b"12345678"), dtype=t.int32, offset=8)
frombuffer(bytearray(b"12345678"), dtype=t.int32, count=3); frombuffer(bytearray(b""), dtype=t.int32)
frombuffer(bytearray(b"12345678"), dtype=t.int32, count=0); frombuffer(b"12345678", dtype=t.int32)
empty(1, 2, 3, 4).dim_order(); empty(1, 2, 3, 4).dim_order(ambiguity_check=True); empty(0, 3).dim_order()
empty(2, 3, 4).transpose(0, 1).dim_order(ambiguity_check=True); empty(2, 3).expand(2, 2, 3).dim_order()
empty(2, 3).expand(2, 2, 3).dim_order(ambiguity_check=True); empty(1, 2, 3, 4).dim_order(ambiguity_check="no")
empty(1, 2, 3, 4).dim_order(ambiguity_check=[t.contiguous_format]); empty(1).dim_order(ambiguity_check=[1])
empty(2, 1, 3, 4).dim_order(ambiguity_check=[t.contiguous_format]); empty(2, 3, 1, 1).dim_order(ambiguity_check=[])
empty(1, 2, 3, 4, memory_format=t.channels_last).dim_order(ambiguity_check=[t.channels_last, t.contiguous_format])
linalg.solve(m, c.reshape(2, 2)); linalg.solve(m, b); linalg.solve(m[0], b[0], left=False)
linalg.solve(m, b, left=False); linalg.solve_ex(m, c.reshape(2, 2)); linalg.lstsq(b[0], b[0]).solution
linalg.lstsq(b.mT[0], b.mT[0]).solution.stride(); triangular_solve(b[0], m[0]).cloned_coefficient; fft.fft(c3, dim=1)
fft.fft(c3 + 0j, dim=0); fft.fft(c3, n=2, dim=1); fft.rfft(c3, dim=0); fft.irfft(c3 + 0j, dim=1)
fft.hfft(c3 + 0j, dim=0); fft.ihfft(c3, dim=1); fft.fft2(c3, dim=(1, 0)); fft.fft2(c3, dim=(0, 2))
fft.rfftn(c3, dim=(1, 0)); fft.rfft2(c3, dim=(0, 1)); fft.irfftn(c3 + 0j, dim=(0, 1)); fft.irfftn(c3 + 0j)
fft.hfft2(c3 + 0j); fft.ihfft2(c3); fft.ihfftn(c3, dim=(0, 1)); fft.fft(c3.mT + 0j); fft.fftn(c3.mT)
masked._ops.amax(c3, 1, mask=c3 > 0); masked._ops.softmax(c3, 1, mask=c3 > 0)
vmap(lambda a, scale=4.0: a * scale)(c3, scale=c3); vmap(lambda a, f=None: a + f)(c3, f=c3[0])
nn.functional.linear_cross_entropy(b[0], m[0], t.tensor([0, 1]), linear_bias=c[:2])
nn.functional.linear_cross_entropy(b[0].mT, c3[:, :2], t.tensor([[0, 1], [1, 0], [1, 1]])[:, :2])
nn.functional.linear_cross_entropy(b[0], c, t.tensor([0, 1]))
nn.functional.linear_cross_entropy(c[:2], c3, t.tensor(0))
nn.functional.linear_cross_entropy(b[0].mT, m[0], t.tensor([0, 1, 1]), linear_bias=c); nn.LinearCrossEntropyLoss(2, 5)
nn.LinearCrossEntropyLoss(2, 5, out_features=(4, 3), bias=True, label_smoothing=0.5)
nn.LinearCrossEntropyLoss(2, 2, out_features=(2,), bias=True)(b[0].mT, t.tensor([[0, 1], [1, 0], [1, 1]]))
nn.LinearCrossEntropyLoss(2, 2, weight=c[:3]); nn.LinearCrossEntropyLoss(2, 2, label_smoothing=1.5)
func.rearrange(c3, "a b c -> c (a b)"); func.rearrange(c3, "a ... -> ... a")
func.rearrange(c3, "a b (h w) -> (w a) h b", h=2); func.rearrange([c, c], "n a -> a n")
func.rearrange(c3, "a b c -> () a b 1 c"); func.rearrange(c3, "a b c -> a b"); func.rearrange(c3, "a b -> b a")
func.rearrange(c3, "a (b b1) c -> b c (a b1)", b=3); func.rearrange(c3, "a a b -> a b"); func.rearrange(c3, "a b c")
func.rearrange(x, "a -> a", z=3); func.rearrange(x, "a -> ((a))"); func.rearrange(x, "a -> (a")
func.rearrange(x, "a_ -> a_"); func.rearrange(x, "a -> ... a"); func.rearrange(x, "a -> a 2")
func.rearrange(c3, "a b c d ... -> a b c d ..."); testing.assert_close(np.ones(2), np.ones(2))
testing.assert_close(np.ones(2), np.zeros(2)); testing.assert_close(np.ones(2), np.ones(2, "f4")); select(c3, 0, c)
polygamma(c.long(), c); eye(c); fft.fftfreq(c.long()); randn(2).new_full((2,), 3.0, layout=t.strided)
nn.functional.cross_entropy(b[0], b[0].softmax(1), ignore_index=1); cholesky_solve(c3[0].mT[:, :2], b[0])
nn.functional.cross_entropy(b[0], b[0].softmax(1), ignore_index=-1); linalg.matrix_norm(t.ones(2, 2).long(), ord=1)
linalg.matrix_norm(t.ones(2, 2).long(), dtype=t.float64); arange(6).reshape(2, 3).median(0).indices; arange(6).median(0)
arange(6).reshape(2, 3).nanmedian(1, True).indices; range(1, 3); index_reduce(x.detach(), 0, c.long(), c, "prod")
lu_solve(b[0, :, :1], *t.linalg.lu_factor(m[0])); from_file("/nonexistent/file", size=3)
index_reduce(x.detach(), 0, t.tensor([0]), c[:1], "amax")
"""


@pytest.mark.parametrize("call", [call for line in CALLS.strip().splitlines() for call in line.split("; ")])
def test_documented_call(call):
    """A call gives what it gives on PyTorch, or is refused in the same words; warnings are of the same category."""
    wanted, found = (_outcome(engine, call) for engine in (torch, retrograd))
    assert_same(wanted, found, f"\n  torch:     {wanted}\n  retrograd: {found}")


def _outcome(engine, call):
    engine.manual_seed(3)
    names = {
        "x": engine.arange(1.0, 5.0, requires_grad=True), "c": engine.arange(4.0), "t": engine, "np": np,
        "c3": engine.arange(24.0).reshape(2, 3, 4).sin(), "b": engine.arange(12.0).reshape(2, 2, 3).cos(),
        "m": engine.eye(2).expand(2, 2, 2) * 3 + engine.arange(8.0).reshape(2, 2, 2).sin(),
    }  # fmt: skip
    start = "" if call.startswith("t.") else "t."
    engine.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = eval(start + call, names)
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0]]
    finally:
        engine.set_warn_always(False)
    return [
        _facts(result),
        sorted(entry.category.__name__ for entry in caught if "torch.jit" not in str(entry.message)),
    ]


def _facts(result):
    """Values, strides (of what has elements), and whether there is a graph."""
    if isinstance(result, (torch.Tensor, retrograd.Tensor)):
        return [plain(result), list(result.stride()) if result.numel() else [], result.is_leaf]
    if isinstance(result, tuple):
        return [_facts(entry) for entry in result]
    return plain(result)


def test_gradients_beneath_vmap_share_a_graph():
    """``autograd.grad`` of one graph for each vector of a batch, as ``torch.vmap`` is shown; it ends freed."""

    def seen(t):
        x = t.arange(1.0, 4.0, requires_grad=True)
        y = x**2
        (rows,) = t.vmap(lambda v: t.autograd.grad(y, x, v))(t.eye(3))
        (nested,) = t.vmap(t.vmap(lambda v: t.autograd.grad((x**3).sum(), x, v)))(t.ones(2, 2))
        with pytest.raises(RuntimeError, match="a second time"):
            t.autograd.grad(y.sum(), x)
        return rows.tolist(), nested.tolist()

    assert seen(retrograd) == seen(torch)


def test_a_hook_after_accumulation_may_return_its_leaf():
    """``lambda p: p.add_(p.grad, alpha=-lr)`` is the documented hook; another tensor is refused."""

    def seen(t, hook):
        v = t.zeros(3, requires_grad=True)
        v.register_post_accumulate_grad_hook(hook)
        try:
            v.backward(t.tensor([1.0, 2.0, 3.0]))
        except RuntimeError as error:
            return str(error)
        return v.tolist()

    for hook in (lambda p: p.add_(p.grad, alpha=-0.01), lambda p: p.detach()):
        assert seen(retrograd, hook) == seen(torch, hook)


def test_unpadding_turns_the_padded_tensor():
    """``unpad_sequence`` transposes its argument in place, and what it returns are copies."""

    def seen(t):
        rnn = t.nn.utils.rnn
        padded = rnn.pad_sequence([t.ones(3, 2), t.ones(1, 2)])
        parts = rnn.unpad_sequence(padded, t.tensor([3, 1]))
        packed = rnn.pack_sequence([t.tensor([1, 2, 3]), t.tensor([4])])
        return tuple(padded.shape), [(p.tolist(), p.stride()) for p in [*parts, *rnn.unpack_sequence(packed)]]

    assert seen(retrograd) == seen(torch)


def test_files_as_memory(tmp_path):
    """``from_file`` writes to a shared file and makes it as long as needed; otherwise writes stay in memory."""

    def seen(t):
        name = str(tmp_path / f"{t.__name__}.bin")
        shared = t.from_file(name, shared=True, size=3)
        shared[1] = 7.0
        private = t.from_file(name, shared=False, size=2, dtype=t.float32)
        private[0] = 5.0
        again = t.from_file(name, size=3)
        with pytest.raises(RuntimeError, match="size <12> is smaller than the required mapping size <16>"):
            t.from_file(name, size=4)
        return shared.tolist(), private.tolist(), again.tolist(), t.from_file(name).tolist()

    assert seen(retrograd) == seen(torch)


def test_what_is_said_each_time():
    """``torch.range`` warns at each call, not at the first alone."""

    def seen(t):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                t.range(1, 3)
        return [str(entry.message) for entry in caught]

    assert seen(retrograd) == seen(torch)
