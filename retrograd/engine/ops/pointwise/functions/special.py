"""Functions of `torch.special`, powers in double precision, and functions of two operands."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ....calls.inplace import call_inplace
from ....core.argument_checks import check_whole, checked_number
from ....core.base import TensorBase
from ....core.registry import OPS, F
from ....table.public import METHODS, check_tensor, function_of, public
from .arithmetic import binary_method, gives_way, left_to_numpy, operand_of

# Functions of two operands, one of which may be a number.

Choice = Callable[[Any, Any], str]


def two_operands(
    name: str, choose: Choice, *, parameter: str = "other", inplace: bool = True, namespaces: tuple[str, ...] = ("",)
) -> Callable[..., Any]:
    """Publish ``name(input, other)``; ``choose`` names the row for the operands at hand."""

    def call(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        other = _second(name, parameter, args, kwargs)
        if not isinstance(input, TensorBase) and not isinstance(other, TensorBase):
            check_tensor(name, input)
        return OPS[choose(input, other)](operand_of(input), operand_of(other))

    def call_in_place(self: Any, *args: Any, **kwargs: Any) -> Any:
        other = _second(name, parameter, args, kwargs)
        return call_inplace(OPS[choose(self, other)], (self, operand_of(other)), {})

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Element-wise {name}; one operand may be a number."
    call_in_place.__name__ = call_in_place.__qualname__ = name + "_"
    for namespace in namespaces:
        public(name, out=True, namespace=namespace or None)(call)
    if inplace:
        public(name + "_", function=name in ("xlogy", "clamp_min", "clamp_max"))(call_in_place)
    return call


def _second(name: str, parameter: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) + len(kwargs) != 1:
        raise TypeError(f"{name}() takes exactly 2 arguments ({1 + len(args) + len(kwargs)} given)")
    if kwargs and parameter not in kwargs:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
    other = args[0] if args else kwargs[parameter]
    if not isinstance(other, (TensorBase, int, float, builtins.complex, np.number, np.bool_)):
        raise TypeError(f"{name}(): argument '{parameter}' must be Tensor or Number, not {type(other).__name__}")
    return other


def _by_other(tensor_row: str, number_row: str) -> Choice:
    return lambda input, other: tensor_row if isinstance(other, TensorBase) else number_row  # noqa: A006


two_operands("fmod", _by_other("_fmod_tensor", "_fmod_number"))
two_operands("copysign", _by_other("_copysign_tensor", "_copysign_number"))


def _bound(tensor_row: str, number_row: str) -> Choice:
    def choose(input: Any, other: Any) -> str:  # noqa: A002
        if isinstance(other, TensorBase):
            return tensor_row
        if other.__class__ is (1j).__class__ or (isinstance(input, TensorBase) and input._sig.kind == "c"):
            raise NotImplementedError("clamp is not supported for complex types")
        check_whole(input, other)
        if isinstance(input, TensorBase) and input._sig.kind == "f":
            checked_number(other, input._sig.numpy)
        return number_row

    return choose


two_operands("clamp_min", _bound("_clamp_min_tensor", "_clamp_min"), parameter="min")
two_operands("clamp_max", _bound("_clamp_max_tensor", "_clamp_max"), parameter="max")
remainder = two_operands("remainder", _by_other("remainder", "_remainder_number"))
METHODS["__mod__"] = binary_method(remainder, left_to_numpy("mod"))
METHODS["__imod__"] = binary_method(METHODS["remainder_"], gives_way)


def _by_either(row: str) -> Choice:
    def choose(input: Any, other: Any) -> str:  # noqa: A002
        if not isinstance(input, TensorBase):
            return row + "_self_number"
        return row if isinstance(other, TensorBase) else row + "_other_number"

    return choose


two_operands("xlogy", _by_either("_xlogy"), namespaces=("", "special"))
two_operands("xlog1py", _by_either("_xlog1py"), inplace=False, namespaces=("special",))


@public("heaviside", out=True)
def heaviside(input: Any, values: Any) -> Any:  # noqa: A002
    """0 where ``input < 0``, ``values`` where it is 0, 1 where it is above."""
    check_tensor("heaviside", input)
    check_tensor("heaviside", values, 2, "values")
    if input._sig.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input._sig.numpy != values._sig.numpy:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return F._heaviside(input, values)


@public("heaviside_", function=False)
def heaviside_(self: Any, values: Any) -> Any:
    """In-place heaviside."""
    return call_inplace(OPS["_heaviside"], (self, values), {})


# Functions of `torch.special`.

SPECIAL = "special"

_ROWS = (
    "erf", "erfc", "erfinv", "erfcx", "ndtr", "ndtri", "log_ndtr", "digamma", "entr", "i0", "i0e", "i1", "i1e",
    "exp2", "expm1", "log1p", "sinc", "logit", "airy_ai", "spherical_bessel_j0", "bessel_j0", "bessel_j1",
    "bessel_y0", "bessel_y1", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
)  # fmt: skip
_ALSO = {
    "expit": "sigmoid", "psi": "digamma", "gammaln": "lgamma", "multigammaln": "mvlgamma", "gammainc": "igamma",
    "gammaincc": "igammac",
}  # fmt: skip
"""Names in torch.special for rows that torch also has under another name."""

for _name in _ROWS:
    public(_name, namespace=SPECIAL)(function_of(OPS[_name]))
for _name, _row in _ALSO.items():
    public(_name, namespace=SPECIAL)(function_of(OPS[_row]))


def _zeta_row(input: Any, other: Any) -> str:  # noqa: A002
    if not isinstance(input, TensorBase):
        return "_zeta_self_number"
    return "_zeta" if isinstance(other, TensorBase) else "_zeta_other_number"


two_operands("zeta", _zeta_row, inplace=False, namespaces=(SPECIAL,))


def _checked_order(n: int) -> int:
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, but n is {n}")
    return n


def polygamma(n: int, input: Any) -> Any:  # noqa: A002
    """The ``n``-th derivative of ``digamma``."""
    check_tensor("polygamma", input, 2)
    return F._polygamma(input, _checked_order(n))


_published = public("polygamma", method=False, out=True)(polygamma)
public("polygamma", namespace=SPECIAL, out=True)(polygamma)


def polygamma_method(self: Any, n: int) -> Any:
    """The ``n``-th derivative of ``digamma``."""
    return _published(n, self)


METHODS["polygamma"] = polygamma_method  # not by ``public``, which would expect the function's order of arguments


@public("polygamma_", function=False)
def polygamma_(self: Any, n: int) -> Any:
    """In-place ``n``-th derivative of ``digamma``."""
    return call_inplace(OPS["_polygamma"], (self, _checked_order(n)), {})


def _polynomial(name: str) -> Callable[..., Any]:
    row = OPS[name]

    def call(input: Any, n: Any) -> Any:  # noqa: A002
        if not isinstance(input, TensorBase) and not isinstance(n, TensorBase):
            check_tensor(name, input)
        return row(input, n)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The {name.replace('_', ' ')} of degree ``n`` at ``input``; either may be a number."
    return call


for _name in (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
):  # fmt: skip
    public(_name, namespace=SPECIAL, out=True)(_polynomial(_name))


# `float_power`: powers in double precision.


def _needs_complex(*values: Any) -> bool:
    return any(v._sig.kind == "c" if isinstance(v, TensorBase) else isinstance(v, builtins.complex) for v in values)


@public("float_power", out=True)
def float_power(input: Any, exponent: Any) -> Any:  # noqa: A002
    """``input ** exponent``, computed in float64 or complex128."""
    if not isinstance(input, TensorBase) and not isinstance(exponent, TensorBase):
        check_tensor("float_power", input)
    numpy = np.dtype("c16" if _needs_complex(input, exponent) else "f8")
    base, power = (F._to_copy(v, numpy) if isinstance(v, TensorBase) and v._sig.numpy != numpy else v
                   for v in (input, exponent))  # fmt: skip
    return _pow(base, power)


def _pow(base: Any, exponent: Any) -> Any:
    if not isinstance(exponent, TensorBase):
        return F._pow_scalar(base, operand_of(exponent))
    return F._pow_tensor(base, exponent) if isinstance(base, TensorBase) else F._pow_base(operand_of(base), exponent)


@public("float_power_", function=False)
def float_power_(self: Any, exponent: Any) -> Any:
    """In-place power; the tensor must be float64 or complex128 already."""
    wanted = "c16" if _needs_complex(self, exponent) else "f8"
    if self._sig.numpy != np.dtype(wanted):
        raise RuntimeError("the base given to float_power_ has dtype other than the result's dtype")
    row = OPS["_pow_tensor" if isinstance(exponent, TensorBase) else "_pow_scalar"]
    return call_inplace(row, (self, operand_of(exponent)), {})
