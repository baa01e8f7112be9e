"""``torch.return_types``: named tuples that functions with several results return."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

_FUNCTIONS_BY_RESULTS = {
    "values indices": "max min median nanmedian mode sort topk kthvalue cummax cummin",
    "min max": "aminmax",
    "mantissa exponent": "frexp",
    "hist bin_edges": "histogram histogramdd",
    "Q R": "qr linalg_qr",
    "U S V": "svd",
    "U S Vh": "linalg_svd",
    "eigenvalues eigenvectors": "linalg_eig linalg_eigh",
    "sign logabsdet": "slogdet linalg_slogdet",
    "solution residuals rank singular_values": "linalg_lstsq",
    "solution cloned_coefficient": "triangular_solve",
    "result info": "linalg_solve_ex",
    "inverse info": "linalg_inv_ex",
    "L info": "linalg_cholesky_ex",
    "P L U": "linalg_lu lu_unpack",
    "LU pivots": "linalg_lu_factor",
    "LU pivots info": "linalg_lu_factor_ex _lu_with_info",
    "LD pivots": "linalg_ldl_factor",
    "LD pivots info": "linalg_ldl_factor_ex",
    "a tau": "geqrf",
}


class Results(tuple[Any, ...]):
    """Several results of one call; each can be had by position or by name."""

    __slots__ = ()
    _names: tuple[str, ...] = ()
    """The names of the results."""

    def __new__(cls, results: Iterable[Any]) -> Results:
        """``TypeError`` if it is not one value for each name."""
        made = super().__new__(cls, results)
        if len(made) != len(cls._names):
            raise TypeError(f"{_full_name(cls)}() takes a {len(cls._names)}-sequence ({len(made)}-sequence given)")
        return made

    def __repr__(self) -> str:
        shown = ",\n".join(f"{name}={value!r}" for name, value in zip(self._names, self, strict=True))
        return f"{_full_name(type(self))}(\n{shown})"


def _full_name(kind: type) -> str:
    return f"torch.return_types.{kind.__name__}"


def _declared(function: str, names: tuple[str, ...]) -> type[Results]:
    body: dict[str, Any] = {name: property(itemgetter(i)) for i, name in enumerate(names)}
    body |= {"__slots__": (), "__module__": "retrograd.return_types", "__doc__": f"What ``{function}`` returns."}
    return type(function, (Results,), body | {"_names": names})


RETURN_TYPES = {
    function + into: _declared(function + into, tuple(names.split()))
    for into in ("", "_out")
    for names, functions in _FUNCTIONS_BY_RESULTS.items()
    for function in functions.split()
    if function + into not in ("histogramdd_out", "_lu_with_info_out")
}
"""The type that each function returns, by torch's name for it; with ``_out`` where the results are written."""


def named(function: str, *results: Any) -> Results:
    """The results of a call of ``function``."""
    return RETURN_TYPES[function](results)


def named_alike(result: Any, targets: Any) -> Any:
    """The tensors given as ``out=``, as a named tuple."""
    made = RETURN_TYPES.get(f"{type(result).__name__}_out") if isinstance(result, Results) else None
    return targets if made is None else made(targets)
