"""Turns the calls seen by a thread's function mode into events of the recordings that want them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import attrgetter
from types import FrameType, NoneType
from typing import Any, Protocol

from .....interpreter import getframe
from ....program.frames import is_users, user_frame
from ....program.signals import reraise_from_handler
from ....program.stacks import StackFrame, stack_of
from ...origins import Marks, Settled
from ..library import LIBRARY
from ..own_work import asked_by_nobody, own_work
from ..private import private
from ..problems import note_problem
from .argument_forms import TOO_MANY, Form, Forms, Place, entries_of, holds, tensors_in
from .pristine import Pristine, Run
from .rules import UNCOUNTED, Rule, judge

_HANDLER = "handle_torch_function"
_version, _requires_grad = attrgetter("_version"), attrgetter("requires_grad")


class Call:
    """One call of a PyTorch function: its arguments, its result, and its place in the program."""

    __slots__ = (
        *("after", "args", "before", "direct", "error", "form", "frame", "grad", "inference", "inputs", "kwargs"),
        *("marks", "others", "places", "plain", "required", "result", "rule", "settled", "versions"),
    )

    plain: bool
    """Whether reading its tensors calls only PyTorch's own code."""
    form: Hashable
    """Equal for calls with the same argument types and tensors at the same positions."""
    inputs: Sequence[Any]
    """Tensors among the arguments, lists flattened."""
    places: Sequence[Place]
    """The position of each."""
    others: Sequence[Any]
    """Arguments that are not tensors."""
    versions: list[int]
    required: tuple[bool, ...]
    """Which of them required a gradient."""
    before: int
    after: int
    """The thread's counter of nodes after the call."""
    grad: bool
    inference: bool
    frame: FrameType | None
    """The user's frame."""
    settled: Settled | None
    """Cached facts about that frame, if it also answers for other calls."""
    direct: bool
    """Whether that frame made this very call, rather than a library's function that it called."""

    def __init__(self, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], marks: Marks) -> None:
        self.rule = rule
        self.args = args
        self.kwargs = kwargs
        self.marks = marks
        """The marks of the thread."""
        self.result: Any = None
        self.error: BaseException | None = None

    def read_inputs(self, form: Form, values: tuple[Any, ...]) -> None:
        """Pick the tensors out of all values, and note their versions."""
        self.form, self.places = form, form.places
        self.inputs, self.others = form.tensors(values), form.others(values)
        self.note_versions()

    def note_versions(self) -> None:
        """Note the versions of the tensors, and which require a gradient."""
        self.versions = versions_of(self.inputs)
        self.required = tuple(map(_requires_grad, self.inputs))

    def read_each(self, tensor_type: type) -> None:
        """Examine each argument, including entries of lists."""
        inputs, places, others = list[Any](), list[Place](), list[Any]()
        given: list[tuple[int | str, Any]] = [*enumerate(self.args), *self.kwargs.items()]
        for position, argument in given:
            if isinstance(argument, tensor_type):
                inputs.append(argument)
                places.append((position, -1))
                continue
            others += (argument,) if isinstance(position, int) else (position, argument)
            for place, entry in enumerate(entries_of(argument)):
                if isinstance(entry, tensor_type):
                    inputs.append(entry)
                    places.append((position, place))
                elif holds(entry.__class__):
                    within = tensors_in(entry, tensor_type, TOO_MANY - len(inputs))
                    inputs += within
                    places += [(position, place)] * len(within)
        self.inputs, self.places, self.others = inputs, places, others
        self.form = (len(self.args), *places)
        self.note_versions()

    def outputs(self, tensor_type: type) -> list[Any]:
        """Return the tensors among the results."""
        result = self.result
        return [result] if isinstance(result, tensor_type) else tensors_in(result, tensor_type, TOO_MANY)

    def stack(self) -> list[StackFrame]:
        """Return the user's frames, innermost first."""
        settled = self.settled
        if settled is None:
            return stack_of(self.frame)
        if settled.stack is None:
            settled.stack = stack_of(settled.frame)
        return settled.stack

    def written(self) -> list[int]:
        """Return the positions of inputs that the call wrote to, ``out=`` first."""
        after = versions_of(self.inputs)
        if after == self.versions:  # as nearly always
            uncounted = self.rule.op in UNCOUNTED and self.inputs and self.result is self.inputs[0]
            return [0] if uncounted else []
        found = [place for place, (now, before) in enumerate(zip(after, self.versions, strict=True)) if now != before]
        return sorted(found, key=lambda place: self.places[place][0] != "out") if len(found) > 1 else found


def version_of(tensor: Any) -> int:
    """Return a tensor's version counter; None for one of inference mode."""
    try:
        return int(tensor._version)
    except Exception as failure:
        reraise_from_handler(failure)
        return -1


def unseen_version_of(tensor: Any) -> int:
    """Return the same, where the program's modes and classes would otherwise be called."""
    with own_work():
        return version_of(tensor)


def versions_of(tensors: Sequence[Any]) -> list[int]:
    """Return the version counter of each tensor."""
    try:
        return list(map(_version, tensors))
    except Exception as failure:
        reraise_from_handler(failure)
        return [version_of(tensor) for tensor in tensors]


class Inside:
    """What one thread is inside of."""

    def __init__(self) -> None:
        self.run: int | None = None
        """The backward pass."""
        self.functions = 0
        """Number of custom Functions whose forward is running."""
        self.optimizer = False
        """Whether an optimizer is stepping, whose calls are ignored."""
        self.steps = 0
        """How often optimizers stepped, or cleared gradients."""


class Listener(Protocol):
    """The receivers of calls."""

    def __call__(self, call: Call, inside: Inside) -> None:
        """Take a call that has ended, made by a thread in this state."""


class Caller:
    """Calls functions for a mode and notifies the listeners; their failures do not reach the program."""

    def __init__(self) -> None:
        torch: Any = LIBRARY.torch
        self._pristine = Pristine()
        self._rules = self._pristine.rules
        self._tensor: type = torch.Tensor
        self._plain = frozenset({torch.Tensor, torch.nn.Parameter, NoneType})
        self._forms = Forms(torch.Tensor, torch.nn.Parameter)
        self._asked_by_nobody = asked_by_nobody()
        self._grad_mode = torch.is_grad_enabled
        self._inference = torch.is_inference_mode_enabled

    def of_c(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Rule, Run]:
        """Return the rule of a function that C code called, and the function to run in its place."""
        try:
            found = self._rules.get(func)
            if found is not None:
                return found, (func, args, kwargs)
        except Exception as failure:  # not hashable
            reraise_from_handler(failure)
        try:
            found, run = self._pristine.of_c(func)
        except Exception as problem:
            note_problem(problem)
            return judge(None), (func, args, kwargs)
        return found, (run, args, kwargs)

    def of_python(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Rule, Run]:
        """Do the same for a Python function, whose frame is three above."""
        try:
            return self._pristine.of_python(func, args, kwargs, getframe(3))
        except Exception as problem:
            note_problem(problem)
            return judge(None), (func, args, kwargs)

    def begin(
        self, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], marks: Marks, before: int
    ) -> Call | None:
        """Note the inputs of a call; ``before`` is the thread's counter of nodes."""
        try:
            call = Call(rule, args[1::-1] if rule.swapped else args, kwargs, marks)
            values = (*call.args, *kwargs.values()) if kwargs else call.args
            form = self._forms.of(call.args, kwargs, values)
            call.plain = form is not None and form.plain and self._asked_by_nobody()
            if form is not None and call.plain:  # as ``read_inputs``
                call.form, call.places, call.others = form, form.places, form.others(values)
                call.inputs = inputs = form.tensors(values)
                call.versions, call.required = versions_of(inputs), tuple(map(_requires_grad, inputs))
            else:
                with own_work():
                    call.read_each(self._tensor) if form is None else call.read_inputs(form, values)
            call.inference, call.before = self._inference(), before
            call.grad = self._grad_mode() and not call.inference
        except Exception as problem:
            note_problem(problem)
            return None
        return call

    def end(
        self, call: Call, frame: FrameType | None, after: int, listeners: tuple[Listener, ...], inside: Inside
    ) -> None:
        """Notify the listeners of a call that has returned or raised; ``after`` is the counter of nodes now."""
        try:
            call.after = after
            settled = call.settled = call.marks.settled
            if settled is None:
                call.direct, call.frame = _is_direct(frame), user_frame(frame)
            else:
                call.direct, call.frame = False, settled.frame
            if call.plain and type(call.result) in self._plain:
                for listener in listeners:
                    listener(call, inside)
            else:
                with own_work():
                    for listener in listeners:
                        listener(call, inside)
        except Exception as problem:
            note_problem(problem)


def _is_direct(frame: FrameType | None) -> bool:
    """Whether the user's code made a call itself; functions of PyTorch written in Python pass it on first."""
    if frame is not None and frame.f_code.co_name == _HANDLER:
        frame = frame.f_back.f_back if frame.f_back is not None else None
        if frame is not None and frame.f_code.co_name == "wrapped":
            frame = frame.f_back
    return frame is not None and is_users(frame.f_code)


def is_traced() -> bool:
    """Whether ``torch.compile`` or ``torch.jit.trace`` traces the program: they must not see our calls."""
    names = private()
    return bool(names.is_compiling()) or names.tracing_state() is not None
