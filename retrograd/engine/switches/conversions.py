"""How modules change their parameters: other data in the same tensors, unless a program wants one of these."""

from __future__ import annotations

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
