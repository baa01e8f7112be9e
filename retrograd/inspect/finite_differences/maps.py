"""Functions as maps of arrays: their values, and products of given vectors with the analytic derivative."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from ..sources.base import Replay
from ..sources.kept_calls import Array, Held, KeptCall
from .isolation import same_random_numbers


class Map(Protocol):
    """A map of arrays with a derivative to be checked."""

    def values(self, arrays: Sequence[Array]) -> list[Array]:
        """Return the outputs."""

    def products(self, arrays: Sequence[Array], given: Sequence[Array]) -> list[Array | None]:
        """Return the derivative of the sum of ``given * values`` with respect to each array, or None."""

    def takes_indices(self) -> bool:
        """Whether there are integer tensors among the other arguments."""


class Applied:
    """One call of a Function, as a map from its arguments that require a gradient to its outputs."""

    def __init__(
        self, replay: Replay, kept_call: KeptCall, used: Collection[int] = (), *, double: bool, until: float
    ) -> None:
        self._replay = replay
        self._until = until
        self._used = used
        """Indices of outputs that gradients may arrive at; empty for all."""
        self._kept_call = kept_call
        self._double = double
        self._varied = kept_call.varied

    def point(self) -> list[Array]:
        """Return the varied arguments, as the program passed them."""
        return [self._cast(self._kept_call.args[place].array) for place in self._varied]

    def values(self, arrays: Sequence[Array]) -> list[Array]:
        """Call forward."""
        with self.repeatable():
            return [self._replay.array(one) for one in self.outputs(self.leaves(arrays))]

    def products(self, arrays: Sequence[Array], given: Sequence[Array], *, later: bool = False) -> list[Array | None]:
        """Call forward and backward; if ``later``, random numbers are drawn in between."""
        with self.repeatable():
            leaves = self.leaves(arrays)
            outputs = self.outputs(leaves)
            if later:
                self._draw()
            found = self._replay.gradients(summed(outputs, self.like(outputs, given)), leaves)
            return [None if one is None else self._replay.array(one) for one in found]

    def products_of_sum(self, arrays: Sequence[Array]) -> list[Array | None]:
        """Call forward and backward for the sum of all outputs: gradients whose entries share memory."""
        with self.repeatable():
            leaves = self.leaves(arrays)
            sums = [one.sum() for one in self.outputs(leaves)]
            found = self._replay.gradients(sum(sums[1:], sums[0]), leaves)
            return [None if one is None else self._replay.array(one) for one in found]

    def is_random(self, arrays: Sequence[Array]) -> bool:
        """Whether forward returns something else after other random draws."""
        usual = self.values(arrays)
        with self.repeatable():
            self._draw()
            other = [self._replay.array(one) for one in self.outputs(self.leaves(arrays))]
        return not all(map(np.array_equal, usual, other))

    def _draw(self) -> None:
        """Draw random numbers from each generator."""
        random.random()
        np.random.random()  # noqa: NPY002  what programs draw from
        self._replay.draw()

    def takes_indices(self) -> bool:
        """Whether there are integer tensors among the other arguments."""
        return any(isinstance(one, Held) and one.array.dtype.kind in "iu" for one in self._kept_call.args)

    @contextmanager
    def repeatable(self) -> Iterator[None]:
        """Make generators draw the same numbers each time."""
        with same_random_numbers(), self._replay.same_random_numbers():
            yield

    def leaves(self, arrays: Sequence[Array]) -> list[Any]:
        """Return the arguments as tensors that require a gradient."""
        return [self._replay.tensor(self._cast(one), requires_grad=True) for one in arrays]

    def outputs(self, leaves: Sequence[Any]) -> list[Any]:
        """Apply the Function; return the differentiable outputs; raises ``TimeoutError`` after the time limit."""
        if time.monotonic() > self._until:
            raise TimeoutError("nobody waits for this any more")
        cls = self._kept_call.function()
        if cls is None:
            raise ReferenceError("the class is gone")
        copies = dict(zip(self._varied, [leaf.clone() for leaf in leaves], strict=True))  # forward may write into it
        args = [
            copies[place] if place in copies else self._fresh(one) for place, one in enumerate(self._kept_call.args)
        ]
        result = cls.apply(*args, **{name: self._fresh(one) for name, one in self._kept_call.kwargs.items()})
        several = result if isinstance(result, (tuple, list)) else (result,)
        tensors = [one for one in several if isinstance(one, self._replay.tensor_type)]
        used = [one for place, one in enumerate(tensors) if not self._used or place in self._used]
        return [one for one in used if self._replay.differentiable(one)]

    def like(self, outputs: Sequence[Any], given: Sequence[Array]) -> list[Any]:
        """Return arrays as tensors with the outputs' dtypes."""
        dtypes = [self._replay.array(one).dtype for one in outputs]
        return [self._replay.tensor(one.astype(dtype)) for one, dtype in zip(given, dtypes, strict=True)]

    def _fresh(self, value: Any) -> Any:
        """Return a copy of an argument that is not varied, with new tensors."""
        if isinstance(value, Held):
            requires_grad = value.requires_grad and value.array.dtype.kind in "fc"
            return self._replay.tensor(self._cast(value.array), requires_grad=requires_grad)
        if isinstance(value, np.ndarray):
            return value.copy()
        if isinstance(value, dict):
            return {key: self._fresh(one) for key, one in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._fresh(one) for one in value)
        return value

    def _cast(self, array: Array) -> Array:
        """Return an array in the precision under test."""
        kinds = {"f": (np.float32, np.float64), "c": (np.complex64, np.complex128)}
        wanted = kinds.get(array.dtype.kind)
        return array if wanted is None else array.astype(wanted[self._double])


class Backward:
    """The backward of a Function, as a map from its arguments and incoming gradients to its results."""

    def __init__(self, applied: Applied, replay: Replay) -> None:
        self._applied = applied
        self._replay = replay

    def point(self, numbers: np.random.Generator) -> list[Array]:
        """Return the arguments as the program passed them, and random incoming gradients."""
        arrays = self._applied.point()
        return [*arrays, *(drawn_like(one, numbers) for one in self._applied.values(arrays))]

    def values(self, arrays: Sequence[Array]) -> list[Array]:
        """Call backward with a recorded graph, so that it can be differentiated."""
        with self._applied.repeatable():
            leaves, found = self._gradients(arrays)
            return [
                np.zeros_like(self._replay.array(leaf)) if one is None else self._replay.array(one)
                for leaf, one in zip(leaves, found, strict=False)
            ]

    def products(self, arrays: Sequence[Array], given: Sequence[Array]) -> list[Array | None]:
        """Differentiate backward's results."""
        with self._applied.repeatable():
            leaves, found = self._gradients(arrays)
            paired = [
                (one, vector)
                for one, vector in zip(found, given, strict=True)
                if one is not None and self._replay.differentiable(one)
            ]
            if not paired:
                return [None for _ in leaves]
            outputs = [one for one, _ in paired]
            vectors = self._applied.like(outputs, [vector for _, vector in paired])
            again = self._replay.gradients(summed(outputs, vectors), leaves)
            return [None if one is None else self._replay.array(one) for one in again]

    def takes_indices(self) -> bool:
        """Whether there are integer tensors among the other arguments."""
        return self._applied.takes_indices()

    def _gradients(self, arrays: Sequence[Array]) -> tuple[list[Any], tuple[Any, ...]]:
        """Return the leaves (arguments, then incoming gradients) and the gradients of the arguments."""
        count = len(self._applied.point())
        leaves = self._applied.leaves(arrays)
        outputs = self._applied.outputs(leaves[:count])
        return leaves, self._replay.gradients(summed(outputs, leaves[count:]), leaves[:count], create_graph=True)


def summed(outputs: Sequence[Any], given: Sequence[Any]) -> Any:
    """Return the scalar whose gradient with respect to the outputs is ``given``."""
    products = [_product(out, g) for out, g in zip(outputs, given, strict=True)]
    return sum(products[1:], products[0])


def _product(out: Any, g: Any) -> Any:
    return (out.conj() * g).sum().real if out.is_complex() else (out * g).sum()


def drawn_like(array: Array, numbers: np.random.Generator) -> Array:
    """Return normal random numbers with an array's shape, complex if it is."""
    drawn = np.asarray(numbers.standard_normal(array.shape)).astype(array.dtype)
    return drawn + 1j * numbers.standard_normal(array.shape) if array.dtype.kind == "c" else drawn
