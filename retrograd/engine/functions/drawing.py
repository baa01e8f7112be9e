"""Random tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inplace import call_inplace
from ..op import linear
from ..public import public
from ..random import rng_of
from ..registry import OPS
from .creating import _sizes, finish, numpy_of

for _node in ("Normal", "Uniform", "Bernoulli"):
    linear(
        f"_overwrite_{_node.lower()}", lambda self, values: values, tensors="self", self=lambda g: g * 0,
        node=f"{_node}Backward{2 if _node == 'Bernoulli' else 0}",
    )  # fmt: skip


def _drawn(draw: Any) -> Any:
    def create(*size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
               device: Any = None, requires_grad: bool = False, **kwargs: Any) -> Any:  # fmt: skip
        size = (kwargs["size"],) if "size" in kwargs else size
        return finish(_draw(draw, _sizes(size), numpy_of(dtype), generator), requires_grad)

    create.__name__ = create.__qualname__ = draw.__name__
    create.__doc__ = draw.__doc__
    return create


def _draw(draw: Any, size: tuple[int, ...], numpy: Any, generator: Any) -> Any:
    if numpy.kind == "c":
        real = np.asarray(draw(rng_of(generator), size))
        return ((real + 1j * np.asarray(draw(rng_of(generator), size))) / np.sqrt(2)).astype(numpy)
    return np.asarray(draw(rng_of(generator), size)).astype(numpy)


def rand_(rng: Any, size: Any) -> Any:
    """Uniform on ``[0, 1)``."""
    return rng.random(size)


def randn_(rng: Any, size: Any) -> Any:
    """Standard normal."""
    return rng.standard_normal(size)


rand = public("rand", method=False)(_drawn(rand_))
randn = public("randn", method=False)(_drawn(randn_))


@public("rand_like", method=False)
def rand_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kwargs: Any) -> Any:  # noqa: A002
    """Uniform, shaped like ``input``."""
    return finish(_draw(rand_, tuple(input.shape), numpy_of(dtype, input._sig.numpy), None), requires_grad)


@public("randn_like", method=False)
def randn_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kwargs: Any) -> Any:  # noqa: A002
    """Standard normal, shaped like ``input``."""
    return finish(_draw(randn_, tuple(input.shape), numpy_of(dtype, input._sig.numpy), None), requires_grad)


@public("randint", method=False)
def randint(low: Any, high: Any = None, size: Any = None, *, generator: Any = None, dtype: Any = None,
            device: Any = None, requires_grad: bool = False) -> Any:  # fmt: skip
    """Integers in ``[low, high)``."""
    if size is None or not isinstance(size, (tuple, list)):
        low, high, size = 0, low, high if size is None else size
    drawn = rng_of(generator).integers(low, high, tuple(size))
    return finish(drawn.astype(numpy_of(dtype, np.dtype(np.int64))), requires_grad)


@public("randperm", method=False)
def randperm(n: int, *, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """A random permutation of ``0 … n-1``."""
    return finish(rng_of(generator).permutation(n).astype(numpy_of(dtype, np.dtype(np.int64))))


def _overwrite(self: Any, kind: str, values: Any) -> Any:
    return call_inplace(OPS["_overwrite_" + kind], (self, np.asarray(values).astype(self._sig.numpy)), {})


@public("uniform_", function=False)
def uniform_(self: Any, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **kwargs: Any) -> Any:
    """Uniform on ``[from, to)``."""
    low = kwargs.pop("from", from_)
    return _overwrite(self, "uniform", rng_of(generator).random(tuple(self.shape)) * (to - low) + low)


@public("normal_", function=False)
def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Normal."""
    return _overwrite(self, "normal", rng_of(generator).standard_normal(tuple(self.shape)) * std + mean)


@public("bernoulli")
def bernoulli(input: Any, p: float | None = None, *, generator: Any = None) -> Any:  # noqa: A002
    """0 or 1, with the elements (or ``p``) as probability of 1."""
    limit = input._array if p is None else p
    return finish((rng_of(generator).random(tuple(input.shape)) < limit).astype(input._sig.numpy))


@public("bernoulli_", function=False)
def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """0 or 1 with probability ``p`` of 1."""
    limit = p._array if hasattr(p, "_array") else p
    return _overwrite(self, "bernoulli", rng_of(generator).random(tuple(self.shape)) < limit)
