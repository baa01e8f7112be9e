"""Sets that parameters and samples lie in: ``check`` says of each entry (or vector, or matrix) whether it does."""

from __future__ import annotations

from typing import Any

from ..engine.core.dtypes import finfo
from ..engine.methods import FUNCTIONS
from ..engine.table.public import NAMESPACES
from ..engine.tensors.tensor import Tensor

_TOLERANCE = 1e-6
_LINALG = NAMESPACES["linalg"]


class Constraint:
    """A set; ``event_dim`` dimensions on the right make one element of it."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """For each element whether it is in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__.lstrip("_") + "()"


class _Dependent(Constraint):
    """A set that depends on the values of other parameters: instances of the distribution say which."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether only an instance knows the set."""
    return isinstance(constraint, _Dependent)


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value  # not NaN


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """A set with bounds, which its text shows."""

    names: tuple[str, ...] = ("lower_bound", "upper_bound")

    def __init__(self, *bounds: Any, **named: Any) -> None:
        self.__dict__.update(dict(zip(self.names, bounds, strict=False), **named))

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={bound}" for name, bound in self.__dict__.items())
        return f"{type(self).__name__.lstrip('_')}({bounds})"

    def check(self, value: Any) -> Any:
        inside = value == value
        if "lower_bound" in self.__dict__:
            inside = inside & (self.lower_bound <= value)
        if "upper_bound" in self.__dict__:
            inside = inside & (value <= self.upper_bound)
        return inside & (value % 1 == 0) if self.is_discrete else inside

    lower_bound: Any
    upper_bound: Any


class _Interval(_Bounded):
    pass


class _GreaterThanEq(_Bounded):
    names = ("lower_bound",)


class _GreaterThan(_Bounded):
    names = ("lower_bound",)

    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _LessThan(_Bounded):
    names = ("upper_bound",)

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _HalfOpenInterval(_Bounded):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Bounded):
    is_discrete = True


class _IntegerGreaterThan(_Bounded):
    names = ("lower_bound",)
    is_discrete = True


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < _TOLERANCE)


class _OneHot(Constraint):
    event_dim, is_discrete = 1, True

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    event_dim, is_discrete = 1, True

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return FUNCTIONS["full"](tuple(value.shape[:-2]), value.shape[-2] == value.shape[-1])


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        square = super().check(value)
        if not bool(square.all()):
            return square
        return FUNCTIONS["isclose"](value, value.mT, atol=_TOLERANCE).flatten(-2).all(-1)


class _PositiveSemidefinite(_Square):
    def check(self, value: Any) -> Any:
        mirrored = symmetric.check(value)
        return (_LINALG["eigvalsh"](value) >= 0).all(-1) if bool(mirrored.all()) else mirrored


class _PositiveDefinite(_Square):
    def check(self, value: Any) -> Any:
        mirrored = symmetric.check(value)
        return _LINALG["cholesky_ex"](value).info == 0 if bool(mirrored.all()) else mirrored


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of matrices of correlations: each row has length 1, up to rounding."""

    def check(self, value: Any) -> Any:
        rounding = finfo(value.dtype).eps * value.size(-1) * 10
        unit = (_LINALG["norm"](value.detach(), dim=-1) - 1.0).abs().le(rounding).all(-1)
        return super().check(value) & unit


class _IndependentConstraint(Constraint):
    """A set whose elements are arrays of elements of another."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete

    def check(self, value: Any) -> Any:
        inside = self.base_constraint.check(value)
        if inside.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"Expected value.dim() >= {self.event_dim} but got {value.dim()}, a value of shape {tuple(value.shape)}"
            )
        joined = self.reinterpreted_batch_ndims
        return inside.flatten(inside.dim() - joined).all(-1) if joined else inside

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """A set that each component of a mixture has."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint, self.event_dim = base_constraint, base_constraint.event_dim
        self.is_discrete = base_constraint.is_discrete

    def check(self, value: Any) -> Any:
        inside = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return inside.all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Sequence(Constraint):
    """A set for each part of a tensor along ``dim``."""

    def __init__(self, cseq: Any, dim: int) -> None:
        self.cseq, self.dim = list(cseq), dim
        if not all(isinstance(constraint, Constraint) for constraint in self.cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.is_discrete = any(constraint.is_discrete for constraint in self.cseq)
        self.event_dim = max(constraint.event_dim for constraint in self.cseq)


class _Cat(_Sequence):
    """Parts of ``lengths`` that are joined by ``cat``."""

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value: Any) -> Any:
        parts = value.split(self.lengths, self.dim)
        return FUNCTIONS["cat"]([one.check(part) for one, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Sequence):
    """Entries that are joined by ``stack``; counted from the right, ``dim`` may lie inside of an element."""

    def __init__(self, cseq: Any, dim: int = 0) -> None:
        super().__init__(cseq, dim)
        self.event_dim += self.dim + self.event_dim < 0

    def check(self, value: Any) -> Any:
        parts = value.unbind(self.dim)
        return FUNCTIONS["stack"]([one.check(part) for one, part in zip(self.cseq, parts, strict=False)], self.dim)


dependent = _Dependent()
dependent_property = property
boolean = _Boolean()
real = _Real()
real_vector = _IndependentConstraint(real, 1)
simplex = _Simplex()
one_hot = _OneHot()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
positive = _GreaterThan(lower_bound=0.0)
nonnegative = _GreaterThanEq(lower_bound=0.0)
unit_interval = _Interval(lower_bound=0.0, upper_bound=1.0)
nonnegative_integer = _IntegerGreaterThan(lower_bound=0)
positive_integer = _IntegerGreaterThan(lower_bound=1)
independent = _IndependentConstraint
multinomial = _Multinomial
interval = _Interval
half_open_interval = _HalfOpenInterval
integer_interval = _IntegerInterval
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
cat = _Cat
stack = _Stack


def shown(value: Tensor) -> str:
    """A value as errors show it: one number without ``tensor()``."""
    return str(value.item()) if value.dim() == 0 else str(value)
