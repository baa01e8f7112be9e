"""Ways to choose the entries of a parameter that are held at zero; an instance is the hook that puts the mask on.

A pruned parameter ``name`` becomes ``name_orig``, its mask the buffer ``name_mask``; before each ``forward`` the hook
sets ``name`` to their product.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ...engine.methods import FUNCTIONS

_rand, _topk, _norm, _ones_like = (FUNCTIONS[name] for name in ("rand", "topk", "norm", "ones_like"))


class BasePruningMethod(ABC):
    """A way to choose entries."""

    _tensor_name: str
    PRUNING_TYPE = "unstructured"
    """``"unstructured"`` (entries), ``"structured"`` (slices) or ``"global"``."""

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Which entries of ``t`` stay (1) and go (0), of those that ``default_mask`` leaves."""

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Any) -> Any:
        """The parameter times its mask."""
        mask, orig = (getattr(module, f"{self._tensor_name}_{part}") for part in ("mask", "orig"))
        return mask.to(dtype=orig.dtype) * orig

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune the parameter ``name``; entries pruned before stay pruned."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        before = [(n, hook) for n, hook in module._forward_pre_hooks.items() if prunes(hook, name)]
        for number, hook in before:
            del module._forward_pre_hooks[number]
            method = _combined(hook, method, name)
        orig = module._parameters[name] if not before else None
        scores = getattr(module, name) if importance_scores is None else importance_scores
        if scores.shape != getattr(module, name).shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        if orig is not None:
            module.register_parameter(f"{name}_orig", orig)
            del module._parameters[name]
            default = _ones_like(orig)
        else:
            default = getattr(module, f"{name}_mask").detach().clone()
        try:
            mask = method.compute_mask(scores, default_mask=default)
        except Exception:
            if orig is not None:
                del module._parameters[f"{name}_orig"]
                module.register_parameter(name, orig)
            raise
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """``t`` with the entries that go at zero; no parameter is changed."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, _ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned values an ordinary parameter again."""
        name = self._tensor_name
        weight, orig = self.apply_mask(module), module._parameters.pop(f"{name}_orig")
        orig.data = weight.data
        del module._buffers[f"{name}_mask"]
        if hasattr(module, name):
            delattr(module, name)
        setattr(module, name, orig)


def prunes(hook: Any, name: str) -> bool:
    """Whether a hook of a module prunes its parameter ``name``."""
    return isinstance(hook, BasePruningMethod) and hook._tensor_name == name


def _combined(old: Any, new: Any, name: str) -> PruningContainer:
    container = old if isinstance(old, PruningContainer) else PruningContainer(old)
    container._tensor_name = name
    container.add_pruning_method(new)
    return container


class PruningContainer(BasePruningMethod):
    """Several methods one after the other."""

    def __init__(self, *args: Any) -> None:
        methods = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """One more, for the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and method._tensor_name != getattr(self, "_tensor_name", method._tensor_name):
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)
        if method is not None:
            self._tensor_name = method._tensor_name

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The last method's choice among what the mask leaves."""
        method, mask = self._pruning_methods[-1], default_mask.clone().to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
            mask[left] = method.compute_mask(t[left], default_mask=mask[left]).to(mask.dtype)
            return mask
        if method.PRUNING_TYPE == "structured":
            others = [d for d in range(t.ndim) if d != method.dim % t.ndim]
            rows = (mask.sum(others) != 0).nonzero().flatten()
            kept = method.compute_mask(t.index_select(method.dim, rows), mask.index_select(method.dim, rows))
            return mask.index_copy(method.dim, rows, kept.to(mask.dtype))
        return method.compute_mask(t, default_mask=mask)


class Identity(BasePruningMethod):
    """Nothing goes."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask as it is."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Entries by chance; ``amount`` is a number of them or a share."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _chosen(self, t: Any, count: int) -> Any:
        return _topk(_rand(t.shape).view(-1), k=count)

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask without the chosen entries."""
        _validate_pruning_amount(self.amount, t.numel())
        count, mask = _compute_nparams_toprune(self.amount, t.numel()), default_mask.clone()
        if count:
            mask.view(-1)[self._chosen(t, count).indices] = 0
        return mask


class L1Unstructured(RandomUnstructured):
    """The entries nearest to zero."""

    def _chosen(self, t: Any, count: int) -> Any:
        return _topk(t.abs().view(-1), k=count, largest=False)


class RandomStructured(BasePruningMethod):
    """Slices along ``dim`` by chance."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def _kept(self, t: Any, size: int, count: int) -> Any:
        chances = _rand(size)
        return chances > _topk(chances, k=count, largest=False).values[-1]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask without the chosen slices."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        _validate_pruning_amount(self.amount, size)
        count = _compute_nparams_toprune(self.amount, size)
        if not count:
            return default_mask
        shape = [1] * t.ndim
        shape[self.dim] = size
        return default_mask * self._kept(t, size, count).view(shape).to(default_mask.dtype)


class LnStructured(RandomStructured):
    """The slices along ``dim`` with the smallest ``n``-norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Any, size: int, count: int) -> Any:
        norms = _compute_norm(t, self.n, self.dim)
        kept = _ones_like(norms)
        kept[_topk(norms, k=size - count).indices] = 2
        return kept > 1


class CustomFromMask(BasePruningMethod):
    """What a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Both masks together."""
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (
        not isinstance(amount, numbers.Integral) and not 0.0 <= float(amount) <= 1.0
    ):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, size: int) -> None:
    if isinstance(amount, numbers.Integral) and amount > size:  # type: ignore[operator]
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")


def _compute_nparams_toprune(amount: Any, size: int) -> Any:
    return amount if isinstance(amount, numbers.Integral) else round(amount * size)


def _validate_structured_pruning(t: Any) -> None:
    if t.ndim <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.ndim} dims"
        )


def _validate_pruning_dim(t: Any, dim: int) -> None:
    if not -t.ndim <= dim < t.ndim:
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Any, n: Any, dim: int) -> Any:
    return _norm(t, p=n, dim=[d for d in range(t.ndim) if d != dim % t.ndim])
