"""Samples of element-wise functions."""

from __future__ import annotations

from op_samples import Sample, unary

SAMPLES: list[Sample] = [
    *unary("sin cos tan tanh exp exp2 expm1 sigmoid square neg abs sgn"),
]
