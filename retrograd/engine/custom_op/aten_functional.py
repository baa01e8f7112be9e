"""Operators of ``ops.aten`` that are neither rows nor public functions: methods, random draws, sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .. import late
from ..core.registry import F
from ..methods import FUNCTIONS
from ..ops.layers.functions.activations import slopes_below
from ..overriding.schema_forms import REDUCTIONS
from ..table.public import NAMESPACES, NN

FUNCTIONAL: Final[dict[str, Callable[..., Any]]] = {}
"""Operator name -> function."""
METHODS: Final = (
    "bernoulli_", "cauchy_", "contiguous", "dense_dim", "dim", "divide_", "exponential_", "float_power_", "geometric_",
    "is_coalesced", "is_contiguous", "is_pinned", "item", "log_normal_", "new_empty_strided", "normal_", "pin_memory",
    "set_", "size", "sparse_dim", "storage_offset", "stride", "to", "true_divide_", "uniform_",
)  # fmt: skip
"""Operators that are methods of tensors."""
_DRAWS: Final = ("cauchy", "exponential", "geometric", "log_normal", "uniform")


def _offer(function: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONAL[function.__name__] = function
    return function


def _method(name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    call.__name__ = name
    call.__doc__ = f"``self.{name}``."
    return call


def _drawn(name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.detach().clone(), f"{name}_")(*args, **kwargs)

    call.__name__ = name
    call.__doc__ = f"Numbers that ``{name}_`` draws, in a new tensor."
    return call


FUNCTIONAL.update({name: _method(name) for name in METHODS if hasattr(late.tensor_class, name)})
FUNCTIONAL.update({name: _drawn(name) for name in _DRAWS})


# -- sizes, which in PyTorch may be symbols


@_offer
def sym_size(self: Any, dim: int | None = None) -> Any:
    """Sizes, or one of them."""
    return list(self.size()) if dim is None else self.size(dim)


@_offer
def sym_stride(self: Any, dim: int | None = None) -> Any:
    """Strides, or one of them."""
    return list(self.stride()) if dim is None else self.stride(dim)


@_offer
def sym_numel(self: Any) -> int:
    """The number of elements."""
    return int(self.numel())


@_offer
def sym_storage_offset(self: Any) -> int:
    """The index of the first element in memory."""
    return int(self.storage_offset())


# -- tensors as they are, in another size, or taken apart


@_offer
def lift(self: Any) -> Any:
    """The tensor itself: no transformation lifts it."""
    return self


FUNCTIONAL["lift_fresh"] = lift


@_offer
def lift_fresh_copy(self: Any) -> Any:
    """A copy."""
    return self.clone()


@_offer
def resize(self: Any, size: Any, *, memory_format: Any = None) -> Any:
    """``resize_`` of a copy."""
    return self.detach().clone().resize_(tuple(size))


@_offer
def resize_as(self: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """``resize_as_`` of a copy."""
    return resize(self, the_template.size())


@_offer
def nonzero_numpy(self: Any) -> list[Any]:
    """One tensor of indices for each dimension."""
    return list(self.nonzero(as_tuple=True))


@_offer
def unique_dim(
    self: Any, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False  # noqa: A002
) -> Any:  # fmt: skip
    """``unique`` along a dimension; places and counts are there, asked for or not."""
    return FUNCTIONS["unique"](self, sorted, True, True, dim)


# -- layers and losses


@_offer
def rrelu_with_noise(
    self: Any, noise: Any, lower: Any = 1 / 8, upper: Any = 1 / 3, training: bool = False, generator: Any = None
) -> Any:  # fmt: skip
    """``rrelu`` that writes its slopes to ``noise`` while training."""
    slopes = slopes_below(self, lower, upper, training)
    if training:
        noise.copy_(slopes)
    return F._rrelu(self, slopes, lower, upper, training)


@_offer
def rrelu_with_noise_functional(
    self: Any, noise: Any, lower: Any = 1 / 8, upper: Any = 1 / 3, training: bool = False, generator: Any = None
) -> Any:  # fmt: skip
    """``rrelu`` and its slopes."""
    noise = noise.clone()
    return rrelu_with_noise(self, noise, lower, upper, training), noise


@_offer
def nll_loss2d_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """``nll_loss`` of images, and the sum of the weights that count."""
    loss = NAMESPACES[NN]["nll_loss"](self, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction])
    counted = target != ignore_index
    each = counted.to(self.dtype) if weight is None else weight[target * counted] * counted
    return loss, each.sum() if reduction == 1 else each.sum() * (0 if reduction == 0 else 1)


@_offer
def multilabel_margin_loss_forward(self: Any, target: Any, reduction: int) -> Any:
    """``multilabel_margin_loss``, and which classes are listed."""
    loss = NAMESPACES[NN]["multilabel_margin_loss"](self, target, reduction=REDUCTIONS[reduction])
    listed = (target < 0).to(target.dtype).cumsum(-1) == 0
    found = self.detach().new_zeros(self.shape)
    return loss, found.scatter_add(-1, target * listed, listed.to(self.dtype)).clamp(max=1)
