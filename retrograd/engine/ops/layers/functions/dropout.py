"""The dropout family: factors drawn from the engine's generator, so that a seed makes them reproducible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....aliasing.memory_formats import made_like
from ....calls.inplace import call_inplace
from ....calls.refusals import refuse, refuse_kind
from ....core.base import wrap
from ....core.bits import memory_of
from ....core.dtypes import scalar_name
from ....core.registry import OPS, F
from ....deprecations import discourage
from ....overriding.asked_functions import heard
from ....random import generator_of
from ....streams.uniform import trials
from ....table.public import FUNCTIONS, NN, check_tensor, public
from ...sampling.functions.drawing import check_probability, drawn_in

_SELU_LOW = 1.7580993408473766
"""Minus the value that SELU tends to."""


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    refuse(p != p, f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(x: Any, p: float, whole_features: bool) -> Any:
    """1 where an element (or its whole channel) stays."""
    if x._sig.kind not in "fc":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {scalar_name(x._sig.numpy)}")

    def draw(shape: Any) -> Any:
        return drawn_in(shape, lambda count: trials(generator_of(None), count, 1 - p).astype(x._sig.numpy))

    if whole_features:
        refuse(x.ndim < 2, "Feature dropout requires at least 2 dimensions in the input")
        return draw((*tuple(x.shape)[:2], *(1,) * (x.ndim - 2)))
    return made_like(memory_of(x), None, draw)


def _scale(numpy: Any, p: float) -> Any:
    """What the elements that stay are multiplied with; rounded as a division in at least single precision rounds it."""
    working = np.promote_types(numpy, np.float32).type
    return numpy.type(1 / working(1 - p))


def _times(x: Any, noise: Any, inplace: bool) -> Any:
    return call_inplace(OPS["mul"], (x, noise), {}) if inplace else F.mul(x, noise)


def _nothing(x: Any, inplace: bool) -> Any:
    """The result where every element is dropped with certainty, or where there is no memory.

    Nothing is drawn, and integers are as good as other numbers.
    """
    return _times(x, wrap(np.zeros((), x._sig.numpy)), inplace)


def _settled(x: Any, p: float, training: bool, inplace: bool) -> Any:
    """The result where nothing is drawn; ``None`` where something is, which is refused for dtypes without a kernel."""
    _check_probability(p)
    if not training or p == 0 or not x.numel():
        return x
    if p == 1 or x.is_meta:
        return _nothing(x, inplace)
    refuse_kind("bernoulli_scalar_cpu_", x._sig.numpy, "fiub")
    return None


def _drop(x: Any, p: float, training: bool, *, inplace: bool = False, features: bool = False) -> Any:
    settled = _settled(x, p, training, inplace)
    if settled is not None:
        return settled
    noise = _heard(x, p, features) if heard() else wrap(_kept(x, p, features) * _scale(x._sig.numpy, p))
    return _times(x, noise, inplace)


def _heard(x: Any, p: float, features: bool) -> Any:
    """The same factors, made by operators that dispatch modes can handle."""
    empty = x.new_empty((*x.shape[:2], *(1,) * (x.ndim - 2))) if features else FUNCTIONS["empty_like"](x)
    return empty.bernoulli_(1 - p).div_(1 - p)


def _alpha_drop(x: Any, p: float, training: bool, *, inplace: bool = False, features: bool = False) -> Any:
    """Dropout that keeps mean and variance under SELU: dropped elements get SELU's lowest value."""
    settled = _settled(x, p, training, inplace)
    if settled is not None:
        return settled
    kept = _kept(x, p, features)
    a = 1 / math.sqrt((_SELU_LOW**2 * p + 1) * (1 - p))
    shift = wrap(((kept - 1) * (_SELU_LOW * a) + _SELU_LOW * a * p).astype(kept.dtype))
    noise = wrap((kept * a).astype(kept.dtype))
    if inplace:
        return call_inplace(OPS["add"], (call_inplace(OPS["mul"], (x, noise), {}), shift), {})
    return F.mul(x, noise) + shift


@public("dropout", namespace=NN)
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:  # noqa: A002
    """Zero each element with probability ``p`` and scale the others up."""
    check_tensor("dropout", input)
    return _drop(input, p, training, inplace=inplace)


@public("alpha_dropout", namespace=NN)
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:  # noqa: A002
    """Dropout that keeps mean and variance of a self-normalising network."""
    check_tensor("alpha_dropout", input)
    return _alpha_drop(input, p, training, inplace=inplace)


@public("feature_alpha_dropout", namespace=NN)
def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:  # noqa: A002
    """``alpha_dropout`` of whole channels."""
    check_tensor("feature_alpha_dropout", input)
    return _alpha_drop(input, p, training, inplace=inplace, features=True)


def _channels(dims: int) -> Any:
    """The public function ``dropout1d`` to ``dropout3d``."""

    def drop(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:  # noqa: A002
        check_tensor(f"dropout{dims}d", input)
        _check_probability(p)
        if dims == 1 and input.ndim not in (2, 3):
            raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input.")
        if dims > 1 and input.ndim not in (dims + 1, dims + 2):
            discourage("dimensions", f"dropout{dims}d", input.ndim)
        if dims == 2 and input.ndim == 3:
            discourage("three dimensions")
        if dims == 2 or input.ndim == dims + 2:
            return _drop(input, p, training, inplace=inplace, features=True)
        if inplace:
            return _drop(input, p, training, inplace=True, features=True)
        return F._squeeze_dim(_drop(F.unsqueeze(input, 0), p, training, features=True), 0)

    drop.__name__ = drop.__qualname__ = f"dropout{dims}d"
    drop.__doc__ = "Zero whole channels with probability ``p`` and scale the others up."
    return drop


for _dims in (1, 2, 3):
    public(f"dropout{_dims}d", namespace=NN)(_channels(_dims))


def _check_torch_form(x: Any, p: float, train: bool, *, features: bool = False) -> None:
    """Outside of ``nn.functional`` a wrong probability is a ``RuntimeError``, as are channels that there are not."""
    refuse(not 0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p}")
    drops = train and p > 0 and x.numel() > 0
    refuse(features and drops and x.ndim < 2, "Feature dropout requires at least 2 dimensions in the input")


def _torch_form(name: str, drop: Any, **facts: bool) -> None:
    """``torch.dropout(input, p, train)`` and its in-place form."""

    def call(input: Any, p: float, train: bool) -> Any:  # noqa: A002
        """Dropout of the given kind."""
        _check_torch_form(input, p, train, **facts)
        return drop(input, p, train, **facts)

    def call_in_place(input: Any, p: float, train: bool) -> Any:  # noqa: A002
        """In-place dropout of the given kind."""
        _check_torch_form(input, p, train, **facts)
        return drop(input, p, train, inplace=True, **facts)

    public(name, method=False)(call)
    public(name + "_", method=False)(call_in_place)


_torch_form("dropout", _drop)
_torch_form("feature_dropout", _drop, features=True)
_torch_form("alpha_dropout", _alpha_drop)
_torch_form("feature_alpha_dropout", _alpha_drop, features=True)


@public("native_dropout", method=False)
def native_dropout(input: Any, p: float, train: bool | None) -> Any:  # noqa: A002
    """Dropout and the mask of what stays."""
    check_tensor("native_dropout", input)
    if train is False or p == 0:
        return F.clone(input), wrap(np.ones(tuple(input.shape), bool))
    check_probability(1 - p)
    kept = _kept(input, p, False)
    scale = 1 / (1 - p) if p < 1 else 0.0
    return F.mul(input, wrap((kept * scale).astype(kept.dtype))), wrap(kept.astype(bool))
