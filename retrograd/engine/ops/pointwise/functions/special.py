"""Functions of ``torch.special``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....aliasing.inplace import call_inplace
from ....table.public import METHODS, check_tensor, function_of, public
from ....table.registry import OPS, F
from ....tensors.base import TensorBase
from .two_operands import two_operands

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
