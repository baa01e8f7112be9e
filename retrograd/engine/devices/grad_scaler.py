"""``GradScaler``: scales losses so that gradients in float16 do not underflow, and unscales the gradients.

It works on the CPU; for a device that does not exist here it warns and passes its input on, as PyTorch's does.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core.base import TensorBase, wrap
from ..observe import notify
from ..switches.modes import no_grad
from ..warning import warn

_READY, _UNSCALED, _STEPPED = range(3)


class _Stage:
    """How far one optimizer is between two updates of the scale, and whether a gradient was infinite or NaN."""

    def __init__(self) -> None:
        self.reached = _READY
        self.overflow: bool | None = None


class GradScaler:
    """Scales losses and leaves out steps whose gradients overflowed; ``update`` adapts the factor."""

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device, self._enabled = device, enabled
        if enabled and device != "cpu":
            warn(f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not available.  Disabling.")
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale, self._scale = init_scale, None
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._start_stages()

    @property
    def _init_growth_tracker(self) -> int:
        return self._growth_tracker

    _get_growth_tracker = _init_growth_tracker

    def _start_stages(self) -> None:
        self._stages: weakref.WeakKeyDictionary[Any, _Stage] = weakref.WeakKeyDictionary()

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in containers, times the scale."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = wrap(np.array(self._init_scale, np.float32))
        scaled = self._scaled(outputs)
        notify("scaling", "scale", None)
        return scaled

    def _scaled(self, outputs: Any) -> Any:
        if isinstance(outputs, TensorBase):
            return outputs * self._scale  # type: ignore[operator]
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self._scaled, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, once before each ``update``."""
        if not self._enabled:
            return
        self._check_scale("unscale_")
        stage = self._stages.setdefault(optimizer, _Stage())
        if stage.reached != _READY:
            done = "unscale_() has already been called on this optimizer since the last update()."
            raise RuntimeError(done if stage.reached == _UNSCALED else "unscale_() is being called after step().")
        stage.overflow = self._unscaled(optimizer)
        notify("scaling", "unscale_", optimizer)
        stage.reached = _UNSCALED

    def _unscaled(self, optimizer: Any) -> bool | None:
        """Whether any gradient is infinite or NaN, once all are divided; None if there are none."""
        found: bool | None = None
        inverse = 1.0 / self.get_scale() if self.get_scale() else np.inf
        for parameter in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
            grad: Any = parameter.grad.coalesce() if parameter.grad.is_sparse else parameter.grad
            values = grad._values() if grad.is_sparse else grad
            if values._sig.numpy == np.float16 and not grad.is_sparse:
                raise ValueError("Attempting to unscale FP16 gradients.")
            found = bool(found) or not bool(np.isfinite(values._array).all())
            with no_grad():
                parameter.grad = grad.mul_(inverse)
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The step of the optimizer, unless a gradient is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale("step")
        stage = self._stages.setdefault(optimizer, _Stage())
        if stage.reached == _STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if stage.reached == _READY:
            self.unscale_(optimizer)
        if stage.overflow is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        stage.reached = _STEPPED
        result = None if stage.overflow else optimizer.step(*args, **kwargs)
        notify("scaling", "step", optimizer)
        return result

    def update(self, new_scale: float | TensorBase | None = None) -> None:
        """Make the scale smaller after an overflow, larger after many steps without one, or set it."""
        if not self._enabled:
            return
        self._check_scale("update")
        if new_scale is not None:
            self._set_scale(float(new_scale))
        else:
            self._adapt([stage.overflow for stage in self._stages.values() if stage.overflow is not None])
        self._start_stages()

    def _adapt(self, overflows: list[bool]) -> None:
        if not overflows:
            raise AssertionError("No inf checks were recorded prior to update.")
        if any(overflows):
            self._set_scale(self.get_scale() * self._backoff_factor)
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = self.get_scale() * self._growth_factor
            if np.isfinite(np.float32(grown)):
                self._set_scale(grown)
            self._growth_tracker = 0

    def _set_scale(self, scale: float) -> None:
        self._scale = wrap(np.array(scale, np.float32))

    def _check_scale(self, asked: str) -> None:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {asked} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )

    def get_scale(self) -> float:
        """The factor; 1 where nothing is scaled."""
        if not self._enabled:
            return 1.0
        return float(self._init_scale if self._scale is None else self._scale._array)

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after many steps without overflow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Change that."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Change that."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many steps without overflow the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Change that."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """Its state, to be loaded by another one; empty where nothing is scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state that ``state_dict`` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._set_scale(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        if self._enabled and self._stages:
            raise AssertionError(
                "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                "scaler.update()."
            )
        return {name: value for name, value in vars(self).items() if name != "_stages"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start_stages()
