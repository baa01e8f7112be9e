"""Strides of ``expand``: only a size that grows gets stride 0 (V: views share memory as torch's do)."""

from __future__ import annotations

import itertools

import pytest

import retrograd

torch = pytest.importorskip("torch")

SHAPES = [(), (1,), (3,), (1, 3), (2, 1), (1, 1), (2, 3)]
TARGETS = [
    (1,),
    (3,),
    (1, 3),
    (2, 3),
    (4, 1, 3),
    (2, 1, 1),
    (1, 1, 3),
    (1, 2, 3),
    (2, 2, 1),
    (1, 1, 1, 1),
    (4, 1, 1, 3),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_strides_of_expand(shape):
    def strides(t, target, turned):
        a = t.zeros(shape)
        try:
            return tuple((a.transpose(0, -1) if turned else a).expand(*target).stride())
        except RuntimeError:
            return "refused"

    for target, turned in itertools.product(TARGETS, (False, True)):
        turned = turned and len(shape) == 2
        assert strides(retrograd, target, turned) == strides(torch, target, turned), (target, turned)
