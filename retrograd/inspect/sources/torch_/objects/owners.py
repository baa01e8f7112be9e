"""Observes the owners of parameters, and ``torch.nn.Parameter(...)`` taking over the values of a tensor."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import FrameType
from typing import Any

from .....interpreter import getframe
from ....program.frames import leave_no_frame, source_line, user_frame
from ....program.modules import attribute
from ....program.signals import reraise_from_handler
from ....recording.events import Event
from ...array_values import Array
from ...base import Watch
from ...module_names import Called
from ...step_effects import content_of, is_zero
from ...writers.owners import Optimizers, tell_module
from ..calls.tensors import number_of
from ..library import LIBRARY
from ..problems import unseen
from ..values.readbacks import CONTENT, READBACKS, ZEROS, Promise
from ..values.values import Readable
from ..watching.mode import OptimizerPause

# Records `torch.nn.Parameter(...)` taking over the values of a tensor, which modes do not see.

_COPYING = "__deepcopy__"


class Parameters:
    """Sends events to every recording of level ``full`` that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Any]]) -> None:
        self._watches = watches

    def wrap_new(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make parameters report the tensor they are made of."""

        def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
            made = original(cls, *args, **kwargs)
            given = args[0] if args else kwargs.get("data")
            caller = getframe(2)  # below the wrapper that patches put around this
            if given is not None and (caller.f_code.co_name != _COPYING or _by_itself(caller)):
                unseen(self._report, given, made, caller)
            elif given is not None:
                unseen(self._note_line, made, caller)
            return made

        return __new__

    def _note_line(self, made: Any, caller: FrameType) -> None:
        """Note the line that copies a module with all its parameters."""
        line = source_line(user_frame(caller))
        for watch in self._watches():
            number_of(watch.sink.tensors, made, source=line)

    def _report(self, given: Any, made: Any, caller: FrameType) -> None:
        line = source_line(user_frame(caller))
        for watch in self._watches():
            table = watch.sink.tensors
            data: dict[str, Any] = {"grad": True, "inputs": [number_of(table, given, source=line)]}
            number = number_of(table, made, source=line)
            data |= {"names": [""], "outputs": [number], "output_names": [""]}
            op = "deepcopy" if caller.f_code.co_name == _COPYING else "Parameter"
            row = watch.sink(Event("operation", op=op, source=line, data=data))
            if table[number].made_by is None:
                table[number].made_by = row


def _by_itself(copying: FrameType) -> bool:
    """Whether a parameter is deep-copied alone, rather than as part of a copied module."""
    asked = copying.f_back  # copy.deepcopy
    return asked is not None and asked.f_back is not None and asked.f_back.f_code.co_filename != copy.__file__


# Observes the owners of parameters: modules at their first call, optimizers at every action.


class StepReader:
    """The ``Reader`` of PyTorch; it must not call any code of the program."""

    def __init__(self, content: Callable[[Array], Hashable] = content_of) -> None:
        """``content`` returns a key that differs if bytes do."""
        self._readable, self._content_of = Readable(), content

    def contents(self, parameters: Sequence[Any]) -> list[Hashable]:
        """Return for each parameter a key that differs if its values do."""
        if not self._readable.now():
            return [None] * len(parameters)
        found = self._each(parameters, self._content, CONTENT)
        return [one.all if isinstance(one, Promise) else one for one in found]

    def gradients(self, parameters: Sequence[Any]) -> list[str | None]:
        """Return for each whether ``.grad`` is none or zero."""
        if not self._readable.now():
            return [None] * len(parameters)
        held = [tensor.grad if tensor.is_leaf else tensor for tensor in parameters]
        found = self._each([grad for grad in held if grad is not None], self._is_zero, ZEROS)
        states = iter([one["zeros"] == one.size if isinstance(one, Promise) else one for one in found])
        return ["none" if grad is None else "zero" if next(states) else None for grad in held]

    def values(self, parameters: Sequence[Any]) -> list[Array | None]:
        """Return the values of each that is on the CPU and has several rows."""
        if not self._readable.now():
            return [None] * len(parameters)
        return [self._rows(parameter) for parameter in parameters]

    def _rows(self, parameter: Any) -> Array | None:
        near = parameter.ndim > 1 and not self._readable.is_far(parameter)
        return self._readable.array(parameter) if near and parameter.dtype in self._readable.wide else None

    def place(self, parameter: Any) -> Hashable:
        """Return the address of a parameter, and its version counter."""
        try:
            return (parameter.data_ptr(), parameter._version) if type(parameter) in self._readable.plain else None
        except Exception as failure:  # without memory, an inference tensor, …
            reraise_from_handler(failure)
            return None

    def _each(self, tensors: Sequence[Any], here: Callable[[Any], Any], names: tuple[str, ...]) -> list[Any]:
        """Return an answer for each tensor; statistics of those on other devices are requested and awaited together."""
        found: list[Any] = [None] * len(tensors)
        plain, is_far = self._readable.plain, self._readable.is_far
        for place, tensor in enumerate(tensors):
            try:
                near = type(tensor) in plain and tensor.is_cpu
                found[place] = here(tensor) if near or not is_far(tensor) else READBACKS.ask(tensor, names)
            except Exception as failure:
                reraise_from_handler(failure)
        return found

    def _content(self, tensor: Any) -> Hashable:
        """Return a key that differs if the values of a CPU tensor do."""
        readable = self._readable
        if not readable.is_plain(tensor) or not tensor.numel():
            return None
        if not tensor.is_contiguous() and readable.size_in_one_piece(tensor) != tensor.numel():
            tensor = tensor.detach().contiguous()
        pointer, size = tensor.data_ptr(), tensor.nbytes
        return self._content_of(readable.memory(pointer, size)) if pointer else None

    def _is_zero(self, gradient: Any) -> bool:
        """Whether the entries of a gradient on the CPU are known, and all zero."""
        if self._readable.first_entry(gradient):
            return False
        array = self._readable.gradient(gradient)
        return array is not None and is_zero(array)


class Owners:
    """Sends events to every recording that watches the thread."""

    def __init__(self, watches: Callable[[], Iterable[Watch]], pause: OptimizerPause) -> None:
        self._watches = watches
        self._pause = pause
        self._optimizers = Optimizers(StepReader(), LIBRARY.torch.Tensor, _in_group)

    def module(self, called: Called) -> None:
        """Note that a module was called outside of others for the first time."""
        for watch in self._watches():
            unseen(tell_module, watch, called)

    # -- optimizers
    def wrap_init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make optimizers report that they were made."""

        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._works("made", optimizer, getframe(1))

        return __init__

    def wrap_zero_grad(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make optimizers report that they clear gradients."""

        def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self._pause.end()  # of a step that raised, or whose closure this is
            self._works("zero_grad", optimizer, getframe(1))
            to_none = args[0] if args else kwargs.get("set_to_none", True)
            if not to_none:  # writes into gradients, which a graph may have saved
                original(optimizer, *args, **kwargs)
                return
            self._pause.begin(writes=False)
            try:
                original(optimizer, *args, **kwargs)
            finally:
                self._pause.end()

        return zero_grad

    def step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """Note that an optimizer steps; return its arguments, changed if it is to call a closure of the program."""
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        self._works("step", optimizer, getframe(1))
        computes = closure is not None or bool(attribute(optimizer, "defaults").get("differentiable"))
        self._pause.begin(computes=computes)
        if not callable(closure):
            return None
        reporting = self._reporting_closure(closure, optimizer)
        return ((args[0], reporting, *args[2:]), kwargs) if len(args) > 1 else (args, {**kwargs, "closure": reporting})

    def _reporting_closure(self, closure: Callable[[], Any], optimizer: Any) -> Callable[[], Any]:
        """Return a closure for the optimizer that reports what each call of the program's one left in ``.grad``."""

        @functools.wraps(closure, updated=())
        def reporting(*args: Any, **kwargs: Any) -> Any:
            self._pause.end()
            unseen(self._optimizers.calls_closure, optimizer)
            try:
                result = closure(*args, **kwargs)
            except BaseException as error:
                leave_no_frame(error)
                raise
            self._works("evaluated", optimizer, getframe(0))
            self._pause.begin(computes=True)
            return result

        return reporting

    def step_ended(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Note that the optimizer has stepped; not called if the step raised."""
        unseen(self._optimizers.stepped, optimizer)
        self._pause.end()

    def scheduled(self, optimizer: Any, caller: FrameType) -> None:
        """Note that a schedule has set the rates of an optimizer."""
        self._optimizers.scheduled(optimizer, caller)

    def _works(self, action: str, optimizer: Any, caller: FrameType) -> None:
        unseen(self._optimizers.works, self._watches(), action, optimizer, caller)


def _in_group() -> bool:
    """Whether the program is one of several processes that may hold the same parameters."""
    distributed: Any = LIBRARY.torch.distributed
    return bool(distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1)
