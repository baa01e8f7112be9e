"""SPEC E, errors: wrong shapes and dtypes are refused with PyTorch's class of error and its key words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import retrograd

real_torch = pytest.importorskip("torch")

COMPLEX = ("floor ceil trunc maximum minimum fmax fmin sort argsort deg2rad rad2deg isposinf max median cummax mode "
           "aminmax")  # fmt: skip
CALLS: dict[str, Callable[[Any], Any]] = {
    "diagonal": lambda t: t.diagonal(t.ones(3, 3), 0, 0, -2),
    "diag_embed": lambda t: t.diag_embed(t.ones(3), 0, 1, 1),
    "take": lambda t: t.take(t.ones(0), t.tensor([0])),
    "logcumsumexp": lambda t: t.logcumsumexp(t.tensor([1, 2]), 0),
    "einsum": lambda t: t.einsum("i->ii", t.ones(2)),
    "qr": lambda t: t.linalg.qr(t.ones(3)),
    "pinv": lambda t: t.linalg.pinv(t.ones(3)),
    "cond": lambda t: t.linalg.cond(t.ones(2, 2), "foo"),
    "lu_unpack": lambda t: t.lu_unpack(t.ones(3, 3), t.tensor([1, 2, 3])),
    "affine_grid": lambda t: t.nn.functional.affine_grid(t.ones(1, 2, 3), (1, 1, 2)),
    "hardtanh": lambda t: t.nn.functional.hardtanh(t.ones(3) > 0),
    "relu": lambda t: t.relu(t.ones(3) > 0),
    "clamp": lambda t: t.clamp(t.tensor([1, 2], dtype=t.int8), max=300),
    "clamp_min": lambda t: t.clamp_min(t.tensor([1, 2], dtype=t.int8), 300),
    "where": lambda t: t.where(t.ones(2) > 0, t.tensor([1, 2], dtype=t.uint8), 300),
    "pow": lambda t: t.pow(t.tensor([1, 2], dtype=t.int8), 300),
    "in": lambda t: 2**70 in t.ones(2),
    "topk": lambda t: t.topk(t.ones(3) * 1j, 2),
    "topk of truths": lambda t: t.topk(t.ones(3) > 0, 2),
    "eig": lambda t: t.linalg.eig(t.ones(2, 2).long()),
    "pinv of halves": lambda t: t.linalg.pinv(t.ones(2, 2).half()),
    "dist": lambda t: t.dist(t.ones(2).long(), t.ones(2).long()),
    "dist of truths": lambda t: t.dist(t.ones(2) > 0, t.ones(2) > 0),
    "lstsq": lambda t: t.linalg.lstsq(t.ones(2, 2).int(), t.ones(2, 2).int()),
    "matrix_rank": lambda t: t.linalg.matrix_rank(t.ones(2, 2).int(), tol=0.5),
    "hardtanh below zero": lambda t: t.nn.functional.hardtanh(t.ones(2).byte()),
    "soft margins": lambda t: t.nn.functional.soft_margin_loss(t.ones(2).int(), t.ones(2).int()),
    "embedding_bag": lambda t: t.nn.functional.embedding_bag(t.tensor([[0]]), t.ones(1, 2).long()),
    "means of truths": lambda t: (t.ones(2) > 0).scatter_reduce(0, t.tensor([0]), t.ones(2) > 0, "mean"),
    "indexed means": lambda t: (t.ones(2) > 0).index_reduce(0, t.tensor([0, 1]), t.ones(2) > 0, "mean"),
    "random_": lambda t: (t.ones(2) * 1j).random_(3),
    "bernoulli_": lambda t: (t.ones(2) * 1j).bernoulli_(0.5),
    "geometric_": lambda t: (t.ones(2) > 0).geometric_(0.5),
    "log_normal_": lambda t: t.ones(2).long().log_normal_(),
    "linspace": lambda t: t.linspace(0, 1, 3, dtype=t.bool),
    "linspace beyond": lambda t: t.linspace(0, 300, 4, dtype=t.uint8),
    "tril_indices": lambda t: t.tril_indices(2, 2, dtype=t.float32),
    "a window": lambda t: t.hann_window(3, dtype=t.complex64),
    "a name as index": lambda t: t.ones(3)["a"],
    "avg_pool1d": lambda t: t.nn.functional.avg_pool1d(t.ones(3), 2),
    "avg_pool2d": lambda t: t.nn.functional.avg_pool2d(t.ones(3, 3), 2),
    "max_pool2d": lambda t: t.nn.functional.max_pool2d(t.ones(3, 3), 2),
    "adaptive_max_pool1d": lambda t: t.nn.functional.adaptive_max_pool1d(t.ones(3), 2),
    "unfold": lambda t: t.nn.functional.unfold(t.ones(3, 3), 2),
    "nuclear norm of a vector": lambda t: t.linalg.norm(t.ones(3), "nuc"),
    "a mask": lambda t: t.nn.functional.scaled_dot_product_attention(*[t.ones(2, 2).long()] * 3, t.ones(2, 2) > 0),
    "causal": lambda t: t.nn.functional.scaled_dot_product_attention(*[t.ones(1, 1, 2, 2).long()] * 3, is_causal=True),
}


def _complex_call(name: str) -> Callable[[Any], Any]:
    count = 2 if name in ("maximum", "minimum", "fmax", "fmin") else 1
    more = {"dim": 0} if name == "cummax" else {}
    return lambda t: getattr(t, name)(*[t.ones(3) * 1j] * count, **more)


OF_DTYPES: dict[str, Callable[[Any], Any]] = {
    "inverse": lambda t: t.linalg.inv(t.ones(2, 2).long()),
    "inverse of halves": lambda t: t.linalg.inv(t.ones(2, 2).half()),
    "vector_norm": lambda t: t.linalg.vector_norm(t.ones(2).int()),
    "nanmean": lambda t: t.nanmean(t.ones(2).byte()),
    "nansum": lambda t: t.nansum(t.ones(2) * 1j),
    "rfft": lambda t: t.fft.rfft(t.ones(2) * 1j),
    "rfft2": lambda t: t.fft.rfft2(t.ones(2, 2) * 1j),
    "ihfftn": lambda t: t.fft.ihfftn(t.ones(2, 2) * 1j),
}


@pytest.mark.parametrize("name", OF_DTYPES)
def test_refused_dtypes_are_named_as_in_torch(name: str) -> None:
    errors = []
    for torch in (retrograd, real_torch):
        with pytest.raises(RuntimeError) as error:
            OF_DTYPES[name](torch)
        errors.append(str(error.value))
    assert errors[0].lower().endswith(errors[1].lower()) or errors[0].endswith(errors[1].removeprefix("Only")), errors


@pytest.mark.parametrize("name", [*CALLS, *(f"{name} of complex numbers" for name in COMPLEX.split())])
def test_class_and_key_words_are_torchs(name: str) -> None:
    call = CALLS.get(name) or _complex_call(name.split()[0])
    errors = []
    for torch in (retrograd, real_torch):
        with pytest.raises(Exception) as error:
            call(torch)
        errors.append(error.value)
    ours, theirs = errors
    assert type(ours).__name__ == type(theirs).__name__
    words, wanted = (set(re.findall(r"[A-Za-z]{3,}", str(e).lower())) for e in errors)
    assert len(words & wanted) >= 0.6 * len(wanted), (str(ours), str(theirs))
