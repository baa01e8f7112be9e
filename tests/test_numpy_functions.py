"""Functions of NumPy that are called with tensors: the result is a tensor, outside of the graph."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
from both_engines import differential, raises


def without_deprecations(program: Any) -> Any:
    """NumPy calls PyTorch's protocol an old one; ours it does not."""

    @functools.wraps(program)
    def quiet(torch: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return program(torch)

    return quiet


@differential
@without_deprecations
def test_functions_of_one_tensor(torch: Any) -> Any:
    """Element by element, with truth values as bytes; of 0-d tensors, of half precision, of two results."""
    x = torch.tensor([[0.25, -1.0], [4.0, 2.0]])
    made = [np.sin(x), np.abs(x), np.square(x), np.isnan(x), np.log(torch.tensor([1, 2])), np.exp(x[0, 0]),
            np.tanh(torch.ones(1, dtype=torch.float16)), *np.divmod(x, 2), np.deg2rad(x[0])]  # fmt: skip
    return made, np.add.reduce(x), [y.requires_grad for y in made], type(np.clip(x, 0, 1)) is torch.Tensor


@differential
@without_deprecations
def test_functions_of_tensors_and_arrays(torch: Any) -> Any:
    """Arrays among the arguments; a given ``out`` stays an array; operators give way to the tensor's."""
    x, array = torch.ones(2, 2), np.full((2, 2), 3.0, np.float32)
    out = array.copy()
    into = np.add(x, 1, out=out)
    operators = [array / x, array == x, x + array, np.float32(2) * x, np.float64(3) / torch.tensor(2)]
    refused = [raises("unsupported operand", call) for call in (lambda: array * x, lambda: array - x)]
    return np.add(array, x), np.multiply(array, x), np.maximum(x, 0), into is out, operators, refused


@differential
@without_deprecations
def test_no_gradient_through_numpy(torch: Any) -> Any:
    """A tensor that requires grad is refused, since NumPy's result would have no history; numbers times it are fine."""
    w = torch.ones(2, requires_grad=True)
    refused = raises("Can't call numpy() on Tensor that requires grad", np.exp, w)
    (np.float64(2) * w).sum().backward()
    return refused, w.grad, np.exp(w.detach())
