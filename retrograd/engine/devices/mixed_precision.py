"""``autocast``: switched off, since there is no device on which it would help.

Asked for a device that is not there it warns and does nothing, as PyTorch does; on the CPU it is refused unless it
is switched off, because NumPy has no bfloat16 and computes slower in float16 than in float32.
"""

from __future__ import annotations

import functools
from typing import Any

from ..warning import warn


class autocast:  # noqa: N801 - torch's name
    """``autocast(device_type, dtype=None, enabled=True, cache_enabled=None)``, as context or decorator."""

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self.fast_dtype, self._enabled = device_type, dtype, enabled
        if not enabled:
            return
        if device_type == "cpu":
            raise RuntimeError(
                "autocast on the CPU would compute in bfloat16, which NumPy has not: leave it out, or switch it off "
                "with enabled=False"
            )
        warn(f"User provided device_type of '{device_type}', but {device_type.upper()} is not available. Disabling")
        self._enabled = False

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was switched on."""

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def within(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return within


def cuda_autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> autocast:
    """``torch.cuda.amp.autocast``."""
    return autocast("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """A ``Function.forward`` as it is: what is never computed in another dtype needs no inputs in one."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return fwd if fwd is not None else functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """A ``Function.backward`` as it is, as for ``custom_fwd``."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return bwd if bwd is not None else functools.partial(custom_bwd, device_type=device_type)


def is_autocast_available(device_type: str) -> bool:
    """Whether ``autocast`` does anything on a device: no."""
    return False


cuda_custom_fwd = functools.partial(custom_fwd, device_type="cuda")
cuda_custom_bwd = functools.partial(custom_bwd, device_type="cuda")
"""``torch.cuda.amp``'s, which do not ask for the device."""
