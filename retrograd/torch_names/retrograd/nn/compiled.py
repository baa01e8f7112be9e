"""``torch.compile`` of a module: a wrapper with PyTorch's attribute names, which saved states contain."""

from __future__ import annotations

from typing import Any

from ..engine.devices.uncompiled import FORMS
from .module import Module

_INNER = "_orig_mod"


class OptimizedModule(Module):
    """Calls a module, and passes on what is asked of it and set; names of its state begin with ``_orig_mod``."""

    __module__ = "retrograd._dynamo.eval_frame"

    def __init__(self, mod: Any, dynamo_ctx: Any = None) -> None:
        super().__init__()
        super().__setattr__(_INNER, mod)

    @property
    def training(self) -> Any:
        """Whether the module is being trained."""
        return self._orig_mod.training

    @training.setter
    def training(self, on: bool) -> None:
        if _INNER in self.__dict__.get("_modules", ()):
            self._orig_mod.training = on

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Apply the module."""
        return self._orig_mod(*inputs, **kwargs)

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("_modules", {}).get(_INNER)
        if name == _INNER and inner is not None:
            return inner
        return super().__getattr__(name) if inner is None else getattr(inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        made = _INNER in self.__dict__.get("_modules", ())
        if not made or name in self.__dict__ or name in (_INNER, "training"):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return True  # also around one without a length

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


FORMS[Module] = OptimizedModule

__all__ = ["OptimizedModule"]
