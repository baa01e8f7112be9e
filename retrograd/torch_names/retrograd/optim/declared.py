"""Optimizers that only declare their settings and the update of one parameter."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter as Argument
from inspect import Signature
from typing import Any, ClassVar

from ..engine.tensors.tensor import Tensor
from .optimizer import Optimizer

POSITIVE: dict[str, str] = {"lr": "learning rate", "eps": "epsilon value", "weight_decay": "weight_decay value"}
"""Settings that may not be negative, and what they are called when they are."""


def _taking(settings: Signature, own: Callable[..., None] | None) -> Callable[..., None]:
    """An ``__init__`` that says which settings it takes, for programs that look whether there is ``fused``."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        Declared.__init__(self, *args, **kwargs)

    this = Argument("self", Argument.POSITIONAL_OR_KEYWORD)
    chosen = own or __init__
    chosen.__signature__ = Signature([this, *settings.parameters.values()])  # type: ignore[attr-defined]
    return chosen


class Declared(Optimizer):
    """An optimizer whose annotated names are its settings, in order, after ``params``.

    Those from ``keywords`` on are given by their names alone. Groups and ``defaults`` list them in that order, too,
    but for those that ``last`` names, which come behind the others.
    """

    _settings: ClassVar[Signature] = Signature()
    _positive: ClassVar[dict[str, str]] = POSITIVE
    _last: ClassVar[tuple[str, ...]] = ()
    _captured: ClassVar[str] = "params and state_steps"
    """What would have to be on a GPU for a step that is captured."""

    def __init_subclass__(
        cls, settings: bool = False, keywords: str = "", positive: dict[str, str] | None = None, last: str = ""
    ) -> None:
        super().__init_subclass__()
        if not settings:
            return
        names = list(cls.__annotations__)
        placed = names.index(keywords) if keywords else len(names)
        kinds = [Argument.POSITIONAL_OR_KEYWORD] * placed + [Argument.KEYWORD_ONLY] * (len(names) - placed)
        cls._settings = Signature([
            Argument("params", Argument.POSITIONAL_OR_KEYWORD),
            *(Argument(name, kind, default=vars(cls)[name]) for name, kind in zip(names, kinds, strict=True)),
        ])  # fmt: skip
        cls._positive, cls._last = {**POSITIVE, **(positive or {})}, tuple(last.split())
        for name in names:
            delattr(cls, name)
        cls.__init__ = _taking(cls._settings, vars(cls).get("__init__"))  # type: ignore[method-assign]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        placed = [p for p in self._settings.parameters.values() if p.kind is Argument.POSITIONAL_OR_KEYWORD]
        try:
            bound = self._settings.bind(*args, **kwargs)
        except TypeError as error:
            spare = f"takes from 2 to {len(placed) + 1} positional arguments but {len(args) + 1} were given"
            said = spare if len(args) > len(placed) else error
            raise TypeError(f"{type(self).__name__}.__init__() {said}") from None
        bound.apply_defaults()
        settings = dict(bound.arguments)
        params = settings.pop("params")
        self._check_settings(settings)
        settings.update({name: settings.pop(name) for name in self._last})
        super().__init__(params, settings)

    def _check_settings(self, settings: dict[str, Any]) -> None:
        check_lr(settings.get("lr"))
        for name, called in self._positive.items():
            if name in settings and not 0.0 <= settings[name]:
                raise ValueError(f"Invalid {called}: {settings[name]}")
        for i, beta in enumerate(settings.get("betas", ())):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        if settings.get("fused") and settings["differentiable"]:
            raise RuntimeError("`fused` does not support `differentiable`")
        if settings.get("fused") and settings["foreach"]:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def _update_group(self, group: dict[str, Any]) -> None:
        if "capturable" in self._settings.parameters and group["capturable"]:
            self._refuse_capture(group)
        super()._update_group(group)

    def _refuse_capture(self, group: dict[str, Any]) -> None:
        """``AssertionError`` where a step would be captured: nothing of ours is on a device that could."""
        if any(p.grad is not None for p in group["params"]):
            raise AssertionError(
                f"If capturable=True, {self._captured} must be on supported devices: "
                "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']. Leave capturable=True out on the CPU."
            )


def check_lr(lr: Any) -> None:
    """``ValueError`` for a learning rate that is a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
