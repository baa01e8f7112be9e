"""gradcheck of functions of sparse tensors (E-42): entries that are there, entries that might be."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from both_engines import assert_agree, differential, raises

FUNCTIONS = {
    "sum": lambda t, s: t.sparse.sum(s),
    "to_dense": lambda t, s: s.to_dense(),
    "dense gradient": lambda t, s: (s * s).to_dense(masked_grad=False),
    "product": lambda t, s: t.sparse.mm(s, t.arange(4, dtype=t.float64).reshape(2, 2) + 1),
}


def sparse(t: Any, *, wide: bool = False) -> Any:
    """Three of four places, or two rows of four."""
    warnings.filterwarnings("ignore", message="Sparse invariant checks")  # PyTorch says that it does not check places
    if wide:
        return t.sparse_coo_tensor([[0, 3]], t.ones(2, 3, dtype=t.float64), (4, 3)).requires_grad_()
    return t.tensor([[1.0, 0.0], [2.0, 3.0]], dtype=t.float64).to_sparse().requires_grad_()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("masked", [False, True])
def test_sparse_inputs_e42(name: str, masked: bool) -> None:
    """Row E-42: masked, only entries are moved; else all places are, and a gradient that leaves some out is wrong."""

    def program(t: Any) -> Any:
        try:
            return t.autograd.gradcheck(lambda s: FUNCTIONS[name](t, s), sparse(t), masked=masked)
        except t.autograd.gradcheck.__globals__["GradcheckError"] as error:
            return "Jacobian mismatch for output 0 with respect to input 0" in str(error)

    assert assert_agree(program).value is True


@differential
def test_sparse_inputs_in_fast_mode_e42(t: Any) -> Any:
    """Row E-42: the fast check moves the entries; values of several dimensions and rows of CSR are entries, too."""
    check = t.autograd.gradcheck
    fast = check(lambda s: (s * 2).to_dense(), sparse(t), masked=True, fast_mode=True)
    return fast, check(lambda s: s.to_dense(), sparse(t, wide=True), masked=True)


@differential
def test_sparse_outputs_e42(t: Any) -> Any:
    """Row E-42: an output that is sparse is refused, with what to write instead."""
    check = t.autograd.gradcheck
    phrase = "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...)"
    return raises(phrase, check, lambda s: s * 2, sparse(t), masked=True)
