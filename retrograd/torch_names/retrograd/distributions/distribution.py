"""``Distribution``: what all of them share: shapes, checks of parameters and samples, samples from ``rsample``."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from ..engine.core.size import Size
from ..engine.methods import FUNCTIONS
from ..engine.switches.modes import no_grad
from ..engine.tensors.tensor import Tensor
from .constraints import Constraint, is_dependent, shown


class Distribution:
    """A batch of distributions (``batch_shape``) over values of ``event_shape``.

    ``arg_constraints`` says where parameters lie, ``support`` where samples do. A subclass sets its parameters as
    attributes, then calls this constructor; it writes ``log_prob`` and either ``rsample`` or ``sample``.
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    support: Any = None
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments from here on."""
        if value not in (True, False):
            raise ValueError(f"validate_args must be True or False, but got {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self._own_constraints().items():
                if not is_dependent(constraint) and not self._is_lazy(name):
                    self._check_parameter(name, getattr(self, name), constraint)

    def _own_constraints(self) -> dict[str, Constraint]:
        return self.arg_constraints

    def _is_lazy(self, name: str) -> bool:
        """Whether the parameter was not given, and is worked out from another one when it is asked for."""
        return name not in self.__dict__ and isinstance(getattr(type(self), name, None), cached_property)

    def _check_parameter(self, name: str, value: Any, constraint: Constraint) -> None:
        if not bool(constraint.check(value).all()):
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{shown(value)}"
            )

    @property
    def batch_shape(self) -> Any:
        """The shape of parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one value."""
        return self._event_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions, repeated to another ``batch_shape``."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        for name, constraint in self.arg_constraints.items():
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                made.__dict__[name] = value.expand(*batch_shape, *value.shape[value.dim() - constraint.event_dim :])
        made._batch_shape = Size(batch_shape)
        return made

    @property
    def mean(self) -> Any:
        """Expected value."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The most likely value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        """Expected square of the distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """Square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Values of shape ``sample_shape + batch_shape + event_shape``, without gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Values as differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """``n`` values."""
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """Logarithm of the density or probability at ``value``."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """Probability of values up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The inverse of ``cdf``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values, along the first dimension."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """Expected ``-log_prob``."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """``exp(entropy)``."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _standard_normal(self, sample_shape: Any, like: Any) -> Any:
        return FUNCTIONS["randn"](self._extended_shape(sample_shape), dtype=like.dtype)

    def _validate_sample(self, value: Any) -> None:
        """``ValueError`` for a value of another shape or outside ``support``; nothing without ``validate_args``."""
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        own = tuple(self._event_shape)
        if tuple(value.shape)[value.dim() - len(own) :] != own:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        expected = tuple(self._batch_shape) + own
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {Size(expected)}."
                )
        if self.support is not None and not bool(self.support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({self.support!r}) of the distribution {self!r}, but found invalid values:\n{shown(value)}"
            )

    def __repr__(self) -> str:
        own = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown_ = ", ".join(
            f"{name}: {(value.item() if value.dim() == 0 else value) if value.numel() == 1 else value.size()}"
            for name, value in own.items()
        )
        return f"{type(self).__name__}({shown_})"


DISTRIBUTIONS = ("Distribution",)
