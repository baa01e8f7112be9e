"""Activations of ``torch.nn.functional``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....calls.inplace import call_inplace
from ....calls.refusals import refuse, refuse_kind
from ....core.absent import known_values
from ....core.argument_checks import real_number
from ....core.base import wrap
from ....core.registry import OPS, F
from ....random import generator_of
from ....streams.drawing import exponential
from ....streams.normal import narrowed
from ....streams.uniform import unit_doubles
from ....table.public import NN, check_tensor, public
from ....warning import warn
from ...losses.functions.losses import default_dim, softmax
from ...sampling.functions.drawing import check_continuous, drawn_in

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def activation(
    name: str,
    *,
    row: str = "",
    fixed: tuple[Any, ...] = (),
    parameters: tuple[str, ...] = (),
    takes_inplace: bool = True,
    out: bool = False,
    top: Mapping[str, Any] | None = None,
    twin: bool = False,
) -> None:
    """Publish a row as ``nn.functional.name(input, *parameters, inplace=False)``.

    ``fixed`` are the row's parameters where the function has none; ``out`` says that it takes ``out=``, ``top`` that
    torch also has it outside of ``nn.functional``, and in which forms; ``twin`` that there is a function ``name_``.
    """
    op = OPS[row or name]
    parameters = parameters or (() if fixed else op.params[1:])
    slots = (*parameters, "inplace") if takes_inplace else parameters

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], bool]:
        given = _by_name(name, slots, args, kwargs)
        inplace = bool(given.pop("inplace", False))
        return (fixed or op.bind((None,), given)[1:]), inplace

    def call(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        check_tensor(name, input)
        values, inplace = arguments(args, kwargs)
        return call_inplace(op.in_place, (input, *values), {}) if inplace else op(input, *values)

    def call_in_place(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        return call_inplace(op.in_place, (input, *arguments(args, kwargs)[0]), {})

    own = "" if isinstance(op.forward, np.ufunc) else op.forward.__doc__
    _describe(call, name, own or f"The activation {name}, element by element.")
    _describe(call_in_place, name + "_", f"In-place {name}.")
    alone = op.name if not fixed and op.required == 1 and len(op.tensor_positions) == 1 else None
    public(name, namespace=NN, out=out, row=alone)(call)
    if top is not None:
        public(name, **{"method": False, **top})(call)
    if twin:
        public(name + "_", namespace=NN)(call_in_place)
        if top is not None:
            public(name + "_", method=False)(call_in_place)


def _describe(function: Any, name: str, doc: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc


def _by_name(name: str, slots: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What an activation was given besides its input, by the names that it takes; ``TypeError`` for anything else."""
    unknown = next((key for key in kwargs if key not in slots), None)
    if unknown is not None:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
    if len(args) > len(slots):
        raise TypeError(f"{name}() takes the arguments input, {', '.join(slots)}, but got {(*args, *kwargs)}")
    return dict(zip(slots, args, strict=False), **kwargs)


activation("relu", twin=True)
activation("leaky_relu", twin=True)
activation("relu6", row="hardtanh", fixed=(0, 6))
activation("hardtanh", twin=True)
activation("elu", parameters=("alpha",), twin=True)
activation("selu", row="elu", fixed=(SELU_ALPHA, SELU_SCALE, 1), top={}, twin=True)
activation("celu", top={}, twin=True)
activation("threshold", top={"out": True}, twin=True)
activation("hardsigmoid")
activation("hardswish")
activation("silu")
activation("mish")
for _name in ("gelu", "logsigmoid", "softplus", "softshrink"):
    activation(_name, takes_inplace=False, out=True)
activation("hardshrink", takes_inplace=False, out=True, top={"out": True, "method": True})
for _name in ("glu", "sigmoid", "tanh"):
    activation(_name, takes_inplace=False)


@public("softsign", namespace=NN)
def softsign(input: Any) -> Any:  # noqa: A002
    """``x / (1 + |x|)``."""
    check_tensor("softsign", input)
    return input / (F.abs(input) + 1)


@public("tanhshrink", namespace=NN)
def tanhshrink(input: Any) -> Any:  # noqa: A002
    """``x - tanh(x)``."""
    check_tensor("tanhshrink", input)
    return F.sub(input, F.tanh(input))


@public("softmin", namespace=NN)
def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:  # noqa: A002
    """Softmax of ``-input``."""
    check_tensor("softmin", input)
    return softmax(-input, default_dim("softmin", input, dim), dtype=dtype)


@public("prelu")
def prelu(input: Any, weight: Any) -> Any:  # noqa: A002
    """``x`` above 0, ``weight * x`` below; ``weight`` has one element, or one per channel (dimension 1)."""
    check_tensor("prelu", input)
    check_tensor("prelu", weight, 2, "weight")
    if input._sig.numpy != weight._sig.numpy:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}; convert one with .to(...)"
        )
    return F._prelu_kernel(input, _per_channel(input, weight))


def _per_channel(input: Any, weight: Any) -> Any:  # noqa: A002
    """The weight of ``prelu`` in a shape that broadcasts along dimension 1 of the input."""
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}. Flatten it first"
        )
    if not input.ndim and weight.numel() != 1:
        raise RuntimeError("Not allow zero-dim input tensor.")
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.numel() not in (1, channels):
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} and "
            f"channel size = {channels}."
        )
    if weight.ndim == input.ndim:
        return weight
    return weight.reshape(tuple([weight.numel() if d == 1 else 1 for d in range(input.ndim)]))


public("prelu", namespace=NN)(prelu)


def slopes_below(input: Any, lower: float, upper: float, training: bool) -> Any:  # noqa: A002
    """Slopes of ``rrelu`` for numbers below 0: drawn while training, else the middle of both bounds."""
    for name, bound in (("lower", lower), ("upper", upper)):
        refuse(not math.isfinite(real_number(bound)), f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound, got lower={lower} and upper={upper}"
        )
    if not training:
        return (lower + upper) / 2
    refuse_kind("rrelu_with_noise_out_cpu", input._sig.numpy, "wh")
    if input.is_meta:
        return input.new_ones(input.shape)
    slopes = np.ones(tuple(input.shape), input._sig.numpy)
    below = input._array <= 0  # only these take a number
    slopes[below] = unit_doubles(generator_of(None), int(below.sum())) * (upper - lower) + lower
    return wrap(slopes)


def rrelu(
    input: Any,  # noqa: A002
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Any:
    """``x`` above 0, ``a * x`` below, with ``a`` drawn from ``[lower, upper)``, or its mean when not training."""
    check_tensor("rrelu", input)
    slopes = slopes_below(input, lower, upper, training)
    args = input, slopes, lower, upper, training
    return call_inplace(OPS["_rrelu"].in_place, args, {}) if inplace else F._rrelu(*args)


def rrelu_(input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Any:  # noqa: A002
    """In-place rrelu."""
    return rrelu(input, lower, upper, training, True)


for _function in (rrelu, rrelu_):
    public(method=False)(_function)
    public(namespace=NN)(_function)


def _gumbel_noise(logits: Any) -> Any:
    """Numbers of the Gumbel distribution, one for each element; where there is no memory, none are drawn."""
    if logits.is_meta:
        return logits.detach()
    waiting = drawn_in(tuple(logits.shape), lambda count: exponential(generator_of(None), count))
    return wrap(-np.log(narrowed(waiting, logits._sig.numpy)))


@public("gumbel_softmax", namespace=NN)
def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A sample of the Gumbel-softmax distribution; ``hard`` gives one-hot values with the soft gradient."""
    check_tensor("gumbel_softmax", logits, name="logits")
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    check_continuous(logits._sig.numpy, "Exponential")
    soft = softmax((logits + _gumbel_noise(logits)) / tau, dim)
    if not hard:
        return soft
    if not soft.ndim:
        return wrap(np.ones((), soft._sig.numpy)) - soft.detach() + soft
    chosen = np.zeros(tuple(soft.shape), soft._sig.numpy)
    np.put_along_axis(chosen, np.expand_dims(known_values(soft).argmax(dim), dim), 1.0, dim)
    return wrap(chosen).to(soft.device) - soft.detach() + soft
