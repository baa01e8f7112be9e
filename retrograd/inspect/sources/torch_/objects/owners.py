"""Records who owns the parameters of a PyTorch program: modules at first call, optimizers at every action."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import chain
from types import FrameType
from typing import Any, NamedTuple

from ....bounded import BoundedDict
from ....events import Event
from ....program.frames import source_line, user_frame
from ....program.modules import attribute, held_parameters, is_training
from ....program.names import unregistered
from ...module_names import name_after_modules, variable_of
from ...object_numbers import ObjectNumbers
from ...optimizer_settings import GroupSettings
from ..calls.calls import unseen
from ..calls.tensors import number_of, numbers_of
from ..library import LIBRARY
from ..values.values import Readable
from ..watching.pause import OptimizerPause


class _Held(NamedTuple):
    """The parameters of an optimizer, as they were told last."""

    sizes: list[int]
    """Of its groups."""
    numbers: list[int]
    parameters: dict[str, int]


class Owners:
    """Reports to every recording that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]], pause: OptimizerPause) -> None:
        self._watches = watches
        self._pause = pause
        self._modules = 0
        self._optimizers = ObjectNumbers()
        self._settings = GroupSettings()
        self._held: BoundedDict[int, _Held] = BoundedDict(1_000)
        """By the number of the optimizer, which its class need not let be hashed."""

    # -- modules
    def module(self, name: str, module: Any, caller: FrameType) -> None:
        """An outermost module was called for the first time."""
        number, self._modules = self._modules, self._modules + 1
        unseen(self._report_module, name, module, caller, number)

    def _report_module(self, name: str, module: Any, caller: FrameType, owner: int) -> None:
        """Tell every recording which parameters an outermost module holds, and under which names."""
        line = source_line(user_frame(caller))
        named = held_parameters(module)
        frozen = [dotted for dotted, parameter in named if not parameter.requires_grad]
        kind = type(module).__name__
        strangers = unregistered(module)
        for watch in self._watches():
            table = watch.sink.tensors
            numbers = numbers_of(table, [parameter for _, parameter in named])
            parameters = {dotted: number for (dotted, _), number in zip(named, numbers, strict=True)}
            for dotted, parameter in named:
                table.name(parameter, dotted, parameter=True)
            data: dict[str, Any] = {"name": name, "type": kind, "parameters": parameters, "frozen": frozen}
            data["owner"] = owner
            if not is_training(module):
                data["training"] = False
            if strangers:
                data["unregistered"] = {dotted: number_of(table, tensor) for dotted, tensor in strangers}
            watch.sink(Event("module", op=kind, source=line, data=data))

    # -- optimizers
    def wrap_init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make optimizers report that they were made."""

        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            unseen(self._report_optimizer, "made", optimizer, sys._getframe(1))

        return __init__

    def wrap_zero_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make optimizers report that they clear gradients."""

        def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self._pause.end()  # of a step that raised, or whose closure this is
            unseen(self._report_optimizer, "zero_grad", optimizer, sys._getframe(1))
            to_none = args[0] if args else kwargs.get("set_to_none", True)
            if not to_none:  # writes into gradients, which a graph may have saved
                original(optimizer, *args, **kwargs)
                return
            self._pause.begin()
            try:
                original(optimizer, *args, **kwargs)
            finally:
                self._pause.end()

        return zero_grad

    def step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """An optimizer steps."""
        unseen(self._report_optimizer, "step", optimizer, sys._getframe(1))
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        self._pause.begin(computes=closure is not None or bool(attribute(optimizer, "defaults").get("differentiable")))

    def step_ended(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """It has stepped; this is not told of one that raised."""
        self._pause.end()

    def _report_optimizer(self, action: str, optimizer: Any, caller: FrameType) -> None:
        owner = self._optimizers.of(optimizer)
        line, kind = source_line(user_frame(caller)), type(optimizer).__name__
        name = variable_of(optimizer, caller, deep=False)
        param_groups = attribute(optimizer, "param_groups")
        groups, settings = [group["params"] for group in param_groups], self._settings.of(param_groups)
        held, sizes = list(chain.from_iterable(groups)), list(map(len, groups))
        for watch in self._watches():
            numbers = numbers_of(watch.sink.tensors, held, source=line)
            if action == "made":
                name_after_modules(watch.sink.tensors, held, caller, LIBRARY.torch.Tensor)
            parameters = self._parameters(owner, sizes, numbers)
            data = {"action": action, "type": kind, "owner": owner, "name": name, "parameters": parameters}
            data["settings"] = settings
            if action == "step" and watch.level == "full":
                digests = zip(numbers, map(Readable().digest, held), strict=True)
                if contents := {str(number): digest for number, digest in digests if digest is not None}:
                    data["contents"] = contents
            watch.sink(Event("optimizer", op=kind, source=line, data=data))

    def _parameters(self, owner: int, sizes: list[int], numbers: list[int]) -> dict[str, int]:
        """Return the numbers of an optimizer's parameters by group and place; events of equal ones share them."""
        known = self._held.get(owner)
        if known is None or known.sizes != sizes or known.numbers != numbers:
            names = (f"{group}.{place}" for group, size in enumerate(sizes) for place in range(size))
            known = self._held[owner] = _Held(sizes, numbers, dict(zip(names, numbers, strict=True)))
        return known.parameters
