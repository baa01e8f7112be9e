"""Arguments that PyTorch's operators refuse are refused with the same type of error and its key phrase."""

from __future__ import annotations

import re
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")

REFUSED = """
torch.linalg.lu_factor(torch.eye(3), pivot=False)
torch.take(v, torch.tensor([0]).int())
v.put(torch.tensor([0]).int(), v[:1])
v.index_copy(0, torch.tensor([0]).int(), v[:1])
torch.renorm(m, -1, 0, 1.)
torch.renorm(m, 1, 0, -1.)
torch.mvlgamma(v, 0)
torch.isclose(v, v, rtol=-1)
torch.allclose(v, v, atol=-1)
torch.movedim(m, (0, 1), (1, 1))
torch.movedim(m, (0, 0), (0, 1))
torch.movedim(m, (0, 1), (1,))
torch.linalg.vector_norm(v, dtype=torch.complex64)
torch.linalg.vector_norm(v + 1j, dtype=torch.float32)
torch.linalg.vector_norm(v, dtype=torch.int64)
torch.linalg.vector_norm(v.double(), dtype=torch.float32)
torch.tensor_split(v, v)
torch.tensor_split(v, torch.ones(1, 1).long())
torch.repeat_interleave(v, torch.ones(1, 1).long(), 0)
torch.repeat_interleave(v, v, 0)
torch.repeat_interleave(v, torch.tensor([1, -2, 3]), 0)
torch.linspace(v, 2, 3)
v.split([1, -1, 3])
torch.block_diag([v])
torch.cartesian_prod([v])
torch.cdist(m, m, compute_mode='x')
torch.clamp_max(v * 1j, 1)
torch.cholesky_solve(v, m)
torch.cholesky_solve(v[:, None], m)
torch.embedding(v, torch.tensor([0]))
torch.gradient(v.byte())
torch.cov(m, fweights=torch.tensor([-1, 1]))
torch.cov(m, fweights=torch.tensor([[1, 1]]))
torch.cov(m, fweights=torch.tensor([1, 1, 1]))
torch.cov(m, fweights=v[:2])
torch.cov(m, aweights=torch.tensor([1, 1]))
torch.linalg.eigh(m, UPLO='x')
torch.cat([])
m.permute(0, 0)
torch.nn.functional.hardtanh(v, 2., 1.)
torch.nn.functional.triplet_margin_loss(v, m, v)
torch.isnan(v, out=v)
torch.flip(v, (0,), out=v)
v - (v > 0)
(v > 0) - (v > 0)
torch.add(v.long(), v.long(), alpha=1.5)
torch.sub(v, v, alpha=1j)
torch.meshgrid(v, v.long())
torch.linalg.householder_product(m, m)
torch.ormqr(m, v[:1], m)
torch.histogram(v, 0)
torch.linalg.vecdot(v.long(), v.long())
torch.nn.functional.kl_div(v.long(), v.long(), reduction='sum')
torch.nn.functional.ctc_loss(torch.ones(3, 1, 2), torch.tensor([[1]]), (4,), (1,))
torch.nn.functional.ctc_loss(torch.ones(3, 1, 2), torch.tensor([[1]]), (3,), (1,), blank=2)
torch.nn.functional.ctc_loss(torch.ones(3, 1, 2), torch.tensor([[1]]), (3, 3), (1,))
torch.cumsum(m, (0, 1))
torch.cumsum(m, True)
torch.cumsum(m, 0, dtype=torch.bool)
torch.cumprod(m, 0.5)
torch.flip(m, 0)
torch.flip(m, dims=0)
torch.topk(v, 1.5)
torch.select(v, 0, 1.)
torch.nonzero(v, as_tuple='a')
torch.trapezoid(v, v, dx=1.)
torch.linalg.multi_dot(m)
torch.amax(m, True)
torch.permute(m, 0, 1)
torch.full(2, 1)
torch.argsort(v, 0, 2)
torch.convolution(v, v, v, 1, [0], [1], False, [0], 1)
torch.addr(m, m, m)
torch.add(v, v, alpha=True)
torch.vdot(v, v.long())
torch.fft.fft(v, n=-1)
torch.fft.fftfreq(-1)
torch.full((2,), 1j, dtype=torch.int64)
torch.full((2,), float('nan'), dtype=torch.int32)
torch.full_like(v, 1e300)
v.byte().fill_(300)
v.fill_(1j)
torch.nn.functional.nll_loss(m, m)
torch.nn.functional.nll_loss(m, v[:2])
torch.nn.functional.nll_loss(m, v[:2].int())
torch.nn.functional.nll_loss(m, v[:2].long(), weight=v)
torch.nn.functional.cross_entropy(m, v[:2])
torch.nn.functional.glu(m, out=m)
torch.det(m, out=m)
torch.median(v, out=v[0])
torch.gradient(m, dim=(0, 0))
torch.tril_indices(-1, 2)
torch.bitwise_left_shift(v > 0, v > 0)
torch.segment_reduce(v, 'sum', lengths=torch.tensor([2]))
torch.masked.mean(v.long())
torch.masked.sum(v, mask=m > 0)
torch.masked.sum(m, (0, 0))
v.celu()
"""


def refusal(engine: Any, text: str) -> tuple[str, set[str]]:
    """The type of the error that a call raises, and the words of its first line."""
    try:
        eval(text, {"torch": engine, "v": engine.ones(3), "m": engine.eye(2)})
    except Exception as error:
        return type(error).__name__, set(re.findall(r"[a-z_]+", str(error).partition("\n")[0].lower()))
    return "none", set()


@pytest.mark.parametrize("text", REFUSED.strip().splitlines())
def test_refused_as_by_pytorch(text: str) -> None:
    """The same type, and most words of the message."""
    (ours, said), (theirs, wanted) = refusal(retrograd, text), refusal(torch, text)
    assert theirs != "none"
    assert ours == theirs
    assert len(said & wanted) >= 0.6 * len(wanted)
