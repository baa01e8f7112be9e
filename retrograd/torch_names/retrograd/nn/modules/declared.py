"""Layers without parameters are declarations: the options and the function of ``nn.functional`` that they go to."""

from __future__ import annotations

from inspect import Parameter as Argument
from inspect import Signature
from typing import Any, ClassVar, dataclass_transform

from .. import functional
from ..module import Module


@dataclass_transform()
class Layer(Module):
    """Base of declared layers: ``class ELU(Layer, call="elu"): alpha: float = 1.0``.

    Annotated names are the options in the order of torch's signature, kept as attributes and handed to the function by
    name.  A subclass without ``call`` is a family: its options come first in those of its layers.  ``only`` limits
    which options are handed over, ``training=True`` adds the module's own, ``shown`` says which ``repr`` shows.
    """

    _call: ClassVar[str] = ""
    _options: ClassVar[tuple[Argument, ...]] = ()
    _signature: ClassVar[Signature] = Signature()
    _only: ClassVar[tuple[str, ...]] = ()
    _shown: ClassVar[tuple[str, ...]] = ()
    _training: ClassVar[bool] = False
    _consumed: ClassVar[tuple[str, ...]] = ()
    """Options that ``prepare`` turns into others, so that the function does not get them."""

    def __init_subclass__(
        cls, call: str = "", only: str | None = None, shown: str | None = None, training: bool = False
    ) -> None:
        super().__init_subclass__()
        if cls._call and not call:  # a user's subclass
            return
        cls._options = (*cls._options, *_declared_options(cls))
        if not call:
            return
        names = tuple(option.name for option in cls._options)
        cls._call, cls._training = call, training
        cls._signature = Signature(cls._options)
        cls._only = tuple(name for name in names if name not in cls._consumed) if only is None else tuple(only.split())
        cls._shown = names if shown is None else tuple(shown.split())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__() {error}") from None
        bound.apply_defaults()
        self.prepare(bound.arguments)

    def prepare(self, options: dict[str, Any]) -> None:
        """Keep the options; for layers that check or change them."""
        for name, value in options.items():
            setattr(self, name, value)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Call the function with the inputs and the options."""
        options = {name: getattr(self, name) for name in self._only}
        if self._training:
            options["training"] = self.training
        return getattr(functional, self._call)(*inputs, **named, **options)

    def extra_repr(self) -> str:
        """Options by name; ``inplace`` only where it is on."""
        given = [(name, getattr(self, name)) for name in self._shown]
        return ", ".join(f"{name}={value!r}" for name, value in given if name != "inplace" or value)


def _declared_options(cls: type) -> list[Argument]:
    """The options that a class itself declares; their defaults leave the class, or one could hide a buffer."""
    found = []
    for name, annotation in cls.__annotations__.items():
        if annotation.startswith("ClassVar"):
            continue
        found.append(Argument(name, Argument.POSITIONAL_OR_KEYWORD, default=vars(cls).get(name, Argument.empty)))
        if name in vars(cls):
            delattr(cls, name)
    return found


def window(value: Any, dimensions: int) -> tuple[Any, ...]:
    """One size for every dimension, or the sizes given."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * dimensions
