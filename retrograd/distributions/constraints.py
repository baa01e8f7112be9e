"""Sets that parameters and samples lie in: ``check`` says of each entry (or vector, or matrix) whether it does."""

from __future__ import annotations

from typing import Any

from ..engine.table.methods import FUNCTIONS
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

    def __init__(self, **bounds: Any) -> None:
        self.__dict__.update(bounds)

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
    pass


class _GreaterThan(_Bounded):
    def check(self, value: Any) -> Any:
        return self.lower_bound < value


class _LessThan(_Bounded):
    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _HalfOpenInterval(_Bounded):
    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Bounded):
    is_discrete = True


class _IntegerGreaterThan(_Bounded):
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


class _PositiveDefinite(_Square):
    def check(self, value: Any) -> Any:
        symmetric = FUNCTIONS["isclose"](value, value.mT, atol=_TOLERANCE).flatten(-2).all(-1)
        if not bool(symmetric.all()):
            return symmetric
        return _LINALG["cholesky_ex"](value).info == 0


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


dependent = _Dependent()
dependent_property = property
boolean = _Boolean()
real = _Real()
real_vector = _IndependentConstraint(real, 1)
simplex = _Simplex()
one_hot = _OneHot()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
square = _Square()
positive_definite = _PositiveDefinite()
positive = _GreaterThan(lower_bound=0.0)
nonnegative = _GreaterThanEq(lower_bound=0.0)
unit_interval = _Interval(lower_bound=0.0, upper_bound=1.0)
nonnegative_integer = _IntegerGreaterThan(lower_bound=0)
positive_integer = _IntegerGreaterThan(lower_bound=1)
independent = _IndependentConstraint
multinomial = _Multinomial


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Between two bounds, both included."""
    return _Interval(lower_bound=lower_bound, upper_bound=upper_bound)


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Between two bounds, the upper one excluded."""
    return _HalfOpenInterval(lower_bound=lower_bound, upper_bound=upper_bound)


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers between two bounds, both included."""
    return _IntegerInterval(lower_bound=lower_bound, upper_bound=upper_bound)


def greater_than(lower_bound: Any) -> Constraint:
    """Above a bound."""
    return _GreaterThan(lower_bound=lower_bound)


def greater_than_eq(lower_bound: Any) -> Constraint:
    """From a bound on."""
    return _GreaterThanEq(lower_bound=lower_bound)


def less_than(upper_bound: Any) -> Constraint:
    """Below a bound."""
    return _LessThan(upper_bound=upper_bound)


def shown(value: Tensor) -> str:
    """A value as errors show it: one number without ``tensor()``."""
    return str(value.item()) if value.dim() == 0 else str(value)
