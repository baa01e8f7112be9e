"""Numbers of Python, NumPy and tensors as they become tensors or are written into them (V-64, V-47)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from both_engines import assert_agree

LISTS = {
    "a number of NumPy among Python's": lambda t: [np.float32(1), 2],
    "a double among Python's": lambda t: [1, np.float64(1.5)],
    "of two precisions": lambda t: [np.float16(1), np.float32(2), 2.5],
    "a truth value beside": lambda t: [np.int8(1), True],
    "a complex number beside": lambda t: [1j, np.float64(1)],
    "further in": lambda t: [[1], [np.float32(2)]],
    "arrays": lambda t: [np.ones(2, np.int8), np.ones(2, np.float32)],
    "tensors of no dimension": lambda t: [t.tensor(1), 2.0],
    "tensors of one element": lambda t: [t.tensor([1.0]), t.tensor([[2.0]])],
    "a double tensor": lambda t: [1.0, t.tensor(2, dtype=t.float64)],
    "a longer tensor": lambda t: [t.tensor([1.0, 2.0])],
    "an empty tensor": lambda t: [t.tensor([])],
    "a sparse one": lambda t: [t.eye(2).to_sparse()[0, 0]],
}


@pytest.mark.parametrize("name", LISTS)
def test_V_64_lists_of_mixed_numbers(name: str) -> None:
    """Row V-64: all entries decide on the dtype; a tensor stands for its one number and adds no dimension."""

    def program(t: Any) -> Any:
        warnings.filterwarnings("ignore", message="Sparse invariant checks|Creating a tensor from a list of numpy")
        made = t.tensor(LISTS[name](t))
        return made, made.dtype

    assert_agree(program)


VALUES = {
    "list": [1.0, 2.0, 3.0], "tuple": (1.0,), "array": np.ones(3), "float32": np.float32(1), "truth": np.bool_(True),
    "float64": np.float64(2), "int8": np.int8(3), "text": "a", "none": None, "complex": np.complex128(1),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_V_47_what_may_be_written_by_index(name: str) -> None:
    """Row V-47: tensors and numbers are written; lists and arrays are refused, whatever the index is."""

    def program(t: Any) -> Any:
        found = []
        for index in (0, slice(None), t.tensor([0, 1]), t.tensor([True, False, True])):
            x = t.zeros(3)
            try:
                x[index] = VALUES[name]
            except TypeError as error:
                found.append(str(error))
            found.append(x)
        return found

    assert_agree(program)


@pytest.mark.parametrize("data", [1.5, True, None, np.float32(2), [1.0, 2.0], 3])
def test_V_64_the_old_constructor_takes_sequences(data: Any) -> None:
    """Row V-64: ``Tensor(data)`` wants a sequence, a size or a tensor."""
    assert_agree(lambda t: tuple(t.Tensor(data).shape))
