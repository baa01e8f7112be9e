"""Dtypes that PyTorch's kernels do not take are refused, and the ones that they take are taken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from op_samples import Sample, all_samples
from operator_sweep import OUT_OF_PLACE, outcome
from sample_mutations import converted, like, raw

import retrograd

torch = pytest.importorskip("torch")

LEFT = {
    "affine_grid_generator", "bincount", "convolution", "gru_cell", "istft", "max_pool1d",
    "nn.functional.hinge_embedding_loss", "nn.functional.max_pool1d", "stft", "view_as_complex",
    "view_as_complex_copy",
}  # fmt: skip
"""Composed functions that are not checked, where PyTorch refuses, and NumPy's lack of complex halves."""
NO_DERIVATIVE = "automatic differentiation"
RANDOM_SAMPLES = "fractional"  # drawn in one dtype, whatever the input's


def floats(value: Any) -> bool:
    """Whether an argument is an array of floating or complex numbers."""
    return isinstance(raw(value), np.ndarray) and raw(value).dtype.kind in "fc"


def one_sample_each() -> list[Sample]:
    """The first sample of each function that has a floating array."""
    found: dict[str, Sample] = {}
    for sample in all_samples():
        if sample.call is None and any(map(floats, sample.args)) and RANDOM_SAMPLES not in sample.name:
            found.setdefault(sample.name, sample)
    return list(found.values())


def in_dtype(sample: Sample, dtype: str) -> Sample:
    """The sample with its floating arrays in another dtype."""
    return replace(sample, args=tuple(like(a, converted(raw(a), dtype)) if floats(a) else a for a in sample.args))


@pytest.mark.parametrize("dtype", ["complex128", "int64", "bool", "float16"])
def test_kinds_of_dtype_are_taken_and_refused_as_by_pytorch(dtype: str) -> None:
    """Each function once in a kind of dtype: both engines give a result, or both refuse."""
    differ = []
    for sample in one_sample_each():
        sample = in_dtype(sample, dtype)
        _, theirs = outcome(torch, sample, OUT_OF_PLACE)
        _, ours = outcome(retrograd, sample, OUT_OF_PLACE)
        only_derivative = theirs is not None and NO_DERIVATIVE in str(theirs)
        if (theirs is None) != (ours is None) and not only_derivative and sample.name not in LEFT:
            differ.append(f"{sample.name}: {theirs} / ours {ours}")
    assert differ == []


@pytest.mark.parametrize("name", ["nn.functional.silu", "nn.functional.gelu", "hypot", "bmm"])
def test_the_refusal_names_the_dtype(name: str) -> None:
    """As PyTorch's kernels name it."""
    _, error = outcome(retrograd, in_dtype(next(s for s in all_samples() if s.name == name), "bool"), OUT_OF_PLACE)
    assert isinstance(error, NotImplementedError)
    assert "not implemented for 'Bool'" in str(error)


def test_in_place_forms_and_out_refuse_too() -> None:
    """``relu_`` of complex numbers, ``hypot`` into integers."""
    with pytest.raises(NotImplementedError, match="clamp is not supported for complex types"):
        retrograd.ones(2, dtype=retrograd.complex64).relu_()
    whole = retrograd.ones(2, dtype=retrograd.int64)
    with pytest.raises(NotImplementedError, match="Long"):
        retrograd.hypot(whole, whole, out=whole.clone())
