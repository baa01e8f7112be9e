"""``biject_to`` and ``transform_to``: maps from all real numbers into a set."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from . import constraints, transforms


class ConstraintRegistry:
    """Makes the map that is registered for the class of a constraint."""

    def __init__(self, offered: dict[type, Callable[[Any], Any]]) -> None:
        self._registry = dict(offered)

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Use ``factory`` for constraints of this class; without a factory a decorator."""
        if factory is None:
            return lambda given: self.register(constraint, given)
        self._registry[constraint if isinstance(constraint, type) else type(constraint)] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The map; ``NotImplementedError`` for a set without one."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints: give this registry a map for them with "
                "its method register(constraint, factory)"
            )
        return factory(constraint)


def _of_interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _of_arrays(registry: ConstraintRegistry, constraint: Any) -> Any:
    base = registry(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


def _of_parts(registry: ConstraintRegistry, constraint: Any) -> Any:
    return transforms.CatTransform([registry(one) for one in constraint.cseq], constraint.dim, constraint.lengths)


def _of_entries(registry: ConstraintRegistry, constraint: Any) -> Any:
    return transforms.StackTransform([registry(one) for one in constraint.cseq], constraint.dim)


def _above(constraint: Any) -> Any:
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


def _below(constraint: Any) -> Any:
    shift = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


_shared: dict[type, Callable[[Any], Any]] = {
    type(constraints.real): lambda constraint: transforms.identity_transform,
    type(constraints.positive): _above,
    type(constraints.nonnegative): _above,
    type(constraints.less_than(0)): _below,
    type(constraints.unit_interval): _of_interval,
    type(constraints.half_open_interval(0, 1)): _of_interval,
    type(constraints.corr_cholesky): lambda constraint: transforms.CorrCholeskyTransform(),
}
biject_to = ConstraintRegistry(
    {**_shared, type(constraints.simplex): lambda constraint: transforms.StickBreakingTransform()}
)
transform_to = ConstraintRegistry(
    {
        **_shared,
        type(constraints.simplex): lambda constraint: transforms.SoftmaxTransform(),
        type(constraints.lower_cholesky): lambda constraint: transforms.LowerCholeskyTransform(),
        type(constraints.positive_definite): lambda constraint: transforms.PositiveDefiniteTransform(),
        type(constraints.positive_semidefinite): lambda constraint: transforms.PositiveDefiniteTransform(),
    }
)
_made_of_others = {constraints.independent: _of_arrays, constraints.cat: _of_parts, constraints.stack: _of_entries}
for _registry in (biject_to, transform_to):
    for _constraint, _factory in _made_of_others.items():
        _registry.register(_constraint, functools.partial(_factory, _registry))
