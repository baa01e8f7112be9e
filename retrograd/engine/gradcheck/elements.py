"""The elements of a tensor as arrays: all in memory, or the specified ones of a sparse tensor with their indices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..core.base import wrap
from ..core.layouts import strided
from ..tensors.tensor import Tensor

Array: TypeAlias = NDArray[Any]


def array_of(tensor: Tensor) -> Array:
    """The tensor's memory as an array; writing to it writes to the tensor and leaves its version alone.

    It is not asked for by ``numpy()``, so that nobody who watches takes these writes for the program's.
    """
    return tensor._array


def memory_of(tensor: Tensor) -> Array:
    """The array that holds the elements which may be perturbed: of a sparse tensor, its entries."""
    if tensor.layout is strided:
        return array_of(tensor.data)
    return array_of(tensor._values() if tensor.is_sparse else tensor.detach().values())


def with_all_places(tensor: Any) -> Tensor:
    """A sparse tensor of the same elements that has an entry for each of them."""
    sizes = tuple(tensor.shape[: tensor.sparse_dim()])
    places = wrap(np.indices(sizes).reshape(len(sizes), -1))
    values = tensor.detach().to_dense().reshape(-1, *tensor.shape[len(sizes) :]).clone()
    full: Tensor = type(tensor).made(places, values, tensor.shape, coalesced=True)
    return full


def positions_of(tensor: Tensor) -> Array:
    """The index of each element in memory among all elements, including those that a sparse tensor omits."""
    if tensor.layout is strided:
        return np.arange(tensor.numel())
    entries = tensor if tensor.is_sparse else tensor.detach().to_sparse()
    places = array_of(entries._indices())
    starts = np.ravel_multi_index(tuple(places), tuple(tensor.shape[: len(places)]))
    inner = int(np.prod(tensor.shape[len(places) :]))
    return np.asarray(starts[:, None] * inner + np.arange(inner)).reshape(-1)


def flat_copy(tensor: Tensor) -> Array:
    """The tensor's values as a new one-dimensional array; what a sparse tensor leaves out is 0."""
    dense = tensor if tensor.layout is strided else tensor.detach().to_dense()
    return np.array(array_of(dense)).reshape(-1)


def tensor_like(array: Array, like: Tensor) -> Tensor:
    """An array as a fresh tensor of the shape and type of another one."""
    made: Tensor = wrap(np.array(array).reshape(tuple(like.shape))).to(like.dtype)
    return made


def one_hots(numel: int) -> Iterator[Array]:
    """The unit vectors of a space, one at a time: together they may be larger than the Jacobian."""
    for index in range(numel):
        vector = np.zeros(numel)
        vector[index] = 1.0
        yield vector
