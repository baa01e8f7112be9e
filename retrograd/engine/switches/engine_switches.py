"""Switches of the engine's parts, among them how modules change their parameters."""

from __future__ import annotations

from typing import Any

from ..aliasing.versions import storage_of
from ..core.argument_checks import check_bool
from ..core.base import TensorBase
from .modes import ModeContext
from .state import STATE

# How modules change their parameters: other data in the same tensors, unless a program wants one of these.

_overwrites = _swaps = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Let conversions put new parameters in the place of those that a module has."""
    global _overwrites
    _overwrites = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions put new parameters in the place of those that a module has."""
    return _overwrites


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Let conversions and ``load_state_dict`` exchange parameters with new ones by ``torch.utils.swap_tensors``."""
    global _swaps
    _swaps = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether conversions and ``load_state_dict`` exchange parameters with new ones."""
    return _swaps


# Small thread-local switches of the engine, each usable as function, context manager and decorator.


class _Switch(ModeContext):
    """Sets one attribute of the thread's state; acts at construction, restores on exit."""

    attribute: str

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.before = getattr(STATE, self.attribute)
        setattr(STATE, self.attribute, mode)

    def __enter__(self) -> None:
        setattr(STATE, self.attribute, self.mode)

    def __exit__(self, *exc: object) -> None:
        setattr(STATE, self.attribute, self.before)

    def __call__(self, func: Any) -> Any:
        setattr(STATE, self.attribute, self.before)  # a decorator acts only while the function runs
        return super().__call__(func)

    def clone(self) -> Any:
        """The same switch again."""
        return type(self)(self.mode)


class set_multithreading_enabled(_Switch):  # noqa: N801 - torch's name
    """Only matters for the execution-order query, which needs it off."""

    __module__ = "retrograd.autograd.grad_mode"

    attribute = "multithreading"

    def __init__(self, mode: bool) -> None:
        check_bool("set_multithreading_enabled", "enabled", mode, 1)
        super().__init__(mode)


class enforce_grad_layout_policy(_Switch):  # noqa: N801
    """With ``False``, a new ``.grad`` may keep the strides in which it arrived instead of its leaf's."""

    __module__ = "retrograd.autograd.grad_mode"

    attribute = "grad_layout"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


class _force_original_view_tracking(_Switch):  # noqa: N801
    """Replay the original view operators when a stale view's node is made anew."""

    attribute = "view_replay"


def is_multithreading_enabled() -> bool:
    """Whether multithreading is on in this thread."""
    return STATE.multithreading


def is_grad_layout_enforced() -> bool:
    """Whether new gradients get the strides of their leaf in this thread."""
    return STATE.grad_layout


def is_view_replay_enabled() -> bool:
    """Whether stale views replay their operators."""
    return STATE.view_replay


class _unsafe_preserve_version_counter:  # noqa: N801
    """Restore the versions of tensors on exit."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, TensorBase) else tensors
        assert isinstance(self.tensors, tuple), "Expected tensors to be a tuple of Tensors or a single Tensor"
        self.versions = tuple(storage_of(t).version for t in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        for t, version in zip(self.tensors, self.versions, strict=True):
            storage_of(t).set_version(version)
