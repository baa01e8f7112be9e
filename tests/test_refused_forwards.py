"""Errors of a forward: raised once, named as PyTorch names them."""

import pickle
import traceback

import pytest

import retrograd
from retrograd._C import _LinAlgError


@pytest.mark.parametrize(
    "refused",
    [
        lambda: retrograd.linalg.cholesky(-retrograd.eye(2)),
        lambda: retrograd.linalg.inv(retrograd.ones(2, 3)),
        lambda: retrograd.gather(retrograd.ones(2, 3), 0, retrograd.ones(2, 3)),
        lambda: retrograd.clamp(retrograd.ones(2, 3)),
    ],
    ids=["cholesky", "inv", "gather", "clamp"],
)
def test_an_error_of_a_forward_is_printed_once(refused):
    for mode in (retrograd.enable_grad, retrograd.no_grad):
        with mode(), pytest.raises((RuntimeError, TypeError)) as caught:
            refused()
        assert "During handling" not in "".join(traceback.format_exception(caught.value))


def test_a_matrix_that_is_refused_raises_the_error_that_pytorch_names():
    with pytest.raises(retrograd.linalg.LinAlgError) as caught:
        retrograd.linalg.cholesky(-retrograd.eye(2))
    assert (type(caught.value).__module__, type(caught.value).__qualname__) == ("retrograd._C", "_LinAlgError")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is _LinAlgError
    assert copy.args == caught.value.args
