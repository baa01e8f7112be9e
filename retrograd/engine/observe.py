"""The engine's observers: a list that is empty in normal use.

An observer is any object; those of these methods that it has are called, on the thread that does the work:

* operations: ``operation(op, args, node, inputs, outputs, took)`` after one (``node`` is ``None`` when nothing was
  recorded, ``took`` is in ns),
  ``created(tensor)`` and ``copied(data, tensor)`` for tensors made from nothing and from data, ``allocated(tensor)``
  for one whose memory nobody has written yet;
* writes: ``writing(op, args)`` when an in-place operation is tried and ``inplace(op, args, node, tensor, inputs)`` when
  it is done, ``writing_out(value, out)`` before one into ``out=``;
* writes that no operator makes: ``storage_written(name, memory)`` of an array by its storage, and
  ``memory_set(tensor, version)`` when a tensor was given other memory (``set_``), with its version before;
* ``refused(name, args, error)`` when such a write, an operation or a way out of the graph raised;
* ``compared(name, tensor, other)`` when two tensors are compared as wholes;
* the way out of the graph: ``cut(reason, tensor, result)`` (``detach``, ``data``, ``item``, ``numpy``, …);
* leaves: ``leaf_changed(tensor, requires_grad)``, ``read(tensor)`` of ``.grad``, ``grad_set(tensor, value)``,
  ``data_set(tensor, value)``, ``swapped(tensor)`` when it has taken the place of another one;
* hooks: ``hooking(kind, target, hook)`` and then ``hooked(handle)``, ``unhooked(handle)``, and around each call
  ``hook_began(handle, hook, given)`` and ``hook_ended(handle, hook, given, result)``;
* custom Functions: ``function_began(node, args)``, ``function_left(node)`` when its forward is over in whatever way,
  ``function_ended(node, args, results)`` when it was applied,
  ``function_backward(node, grads, results)`` with what the user's ``backward`` returned, unchecked;
* checkpoints: ``checkpoint(action, frame)`` with ``"forward"``, ``"recompute"`` or ``"ended"``;
* scopes that the user named: ``scope_began(name)``, ``scope_ended(name)``;
* modules and optimizers: ``module_began(module)``, ``module_ended(module)``, ``optimizer(action, optimizer)`` with
  ``"made"``, ``"step"`` or ``"zero_grad"``, and ``optimizer_done(action, optimizer)`` when a step or clearing is over;
  ``closure_began()`` and ``closure_ended()`` around what a step calls of the program's own;
  ``clipping(function, parameters, bound)`` before the gradients of these are clipped;
* automatic casts: ``autocast_switched(action, device, enabled, dtype)`` with ``"entered"`` or ``"left"``;
* grad modes: ``grad_switched(action, switched, before, now)`` with ``"entered"``, ``"left"`` or ``"set"``, the object
  or the name of the function, and (grad mode, inference mode);
* ``functional_called(tensors)`` before a module is called with these by name in place of its own;
* training: ``switching(module, mode)`` before ``train`` or ``eval`` of a module and of each inside it,
  ``state_loaded(module, state, result)``, ``scheduled(optimizer)`` when a schedule has set its rates,
  ``scaling(function, optimizer)`` when a gradient scaler has scaled a loss or unscaled gradients;
* backward: ``backward_called(api, outputs, gradients, inputs, retain_graph, create_graph)`` when it is asked for and
  ``backward_left(results, error)`` when it is over; ``backward_began(roots)`` with ``(node, input number)`` pairs just
  before a run and ``backward_ended(error)``; ``node_began(node, grads)`` and ``node_ended(node, grads, results)``
  around each node of a full run, ``swept(node, grads, results, began, ended)`` after each of a sweep (with the clock
  in ns), ``sweep_failed(node, grads)``; ``accumulating(leaf)`` and ``accumulated(leaf, grad)`` around a change of
  ``.grad``, but ``filled(leaves)`` alone where a sweep stores first gradients as they are, with
  ``(accumulator, grad, began, ended)`` of each;
  ``released(node)`` in a full run.  Whoever hears of single nodes or leaves makes every run a full one,
  unless it hears ``swept``, too.

An observer whose ``hears_updates`` is false takes an optimizer's work as a whole: of the writes and cleared gradients
that make it up, and that record nothing, it is not called.

Observers must not keep what they are given, and must not raise, unless they mean to stop the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..locks import reentrant_lock
from .switches.state import STATE, enter_mode, leave_mode

observers: list[Any] = []
COUNT = 0
"""Number of observers: while ``state.MODE`` equals it, nothing else is switched on in any thread."""
HEAR_NODES = False
"""Whether an observer wants single nodes before they run, which a sweep does not report."""
HEAR_SWEEPS = False
"""Whether any of them hears of the nodes of a sweep."""
HEAR_UPDATES = False
"""Whether an observer wants single writes and gradients while an optimizer is running."""
PRESENT: object = object()
"""Identifies the current set of observers: a new object whenever it changes."""
_NODE_EVENTS = ("node_began", "node_ended", "accumulating", "accumulated", "released")
_UPDATES = ("writing", "inplace", "grad_set")
OPERATION: tuple[Callable[..., None], ...] = ()
"""The methods ``operation`` of the present observers, which are called most often of all."""
SWEPT: tuple[Callable[..., None], ...] = ()
"""Their methods ``swept``, which come next."""
_methods: dict[str, tuple[Callable[..., None], ...]] = {}
"""Event -> the methods of the current observers, as far as looked up; replaced when observers change."""
_changing = reentrant_lock()


def add(observer: Any) -> None:
    """Notify ``observer`` of everything that happens from now on."""
    with _changing:
        observers.append(observer)
        enter_mode()  # before counting: at no moment may the count be the mode while something else is on in a thread
        _count()


def remove(observer: Any) -> None:
    """Stop notifying ``observer``; unknown observers are ignored."""
    with _changing:
        if observer in observers:
            observers.remove(observer)
            _count()
            leave_mode()


def _count() -> None:
    """Update what depends on the observers."""
    global COUNT, HEAR_NODES, HEAR_SWEEPS, HEAR_UPDATES, OPERATION, PRESENT, SWEPT, _methods
    COUNT = len(observers)
    content = [observer for observer in observers if hasattr(observer, "swept")]
    HEAR_SWEEPS = bool(content)
    HEAR_NODES = any(hasattr(o, event) for o in observers if o not in content for event in _NODE_EVENTS)
    near = [observer for observer in observers if any(hasattr(observer, event) for event in _UPDATES)]
    HEAR_UPDATES = any(getattr(observer, "hears_updates", True) for observer in near)
    OPERATION = tuple([observer.operation for observer in observers if hasattr(observer, "operation")])
    SWEPT = tuple([observer.swept for observer in content])
    PRESENT = object()
    _methods = {}


def notify(event: str, *args: Any) -> None:
    """Call the method named ``event`` of every observer that has it."""
    if STATE.in_handler:
        return
    methods = _methods.get(event)
    for method in _look_up(event) if methods is None else methods:
        method(*args)


def _look_up(event: str) -> tuple[Callable[..., None], ...]:
    """Find the methods of an event for the first time."""
    known = _methods  # before observers are asked for: if others come or go meanwhile, the answer is for nobody
    found = tuple([getattr(observer, event) for observer in tuple(observers) if hasattr(observer, event)])
    known[event] = found
    return found


class BackwardCall:
    """A call of ``backward`` or ``grad``, as a context manager that does nothing without observers."""

    def __init__(self, watched: bool) -> None:
        self.watched = watched
        self.results: list[Any] | None = None

    def __enter__(self) -> BackwardCall:
        return self

    def gives(self, results: list[Any]) -> None:
        """Note the results of ``grad``."""
        if self.watched:
            self.results = results

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self.watched:
            notify("backward_left", self.results, error)
            self.results = None


_UNWATCHED = BackwardCall(watched=False)


def backward_call(api: str, *arguments: Any) -> BackwardCall:
    """The context in which ``backward`` and ``grad`` run, so that observers also see calls that are refused."""
    if not observers:
        return _UNWATCHED
    notify("backward_called", api, *arguments)
    return BackwardCall(watched=True)


class _OptimizerCall:
    """A step of an optimizer, or its clearing of gradients, as a context manager."""

    def __init__(self, action: str, optimizer: Any) -> None:
        self.action, self.optimizer = action, optimizer

    def __enter__(self) -> None:
        if self.optimizer is not None:
            self.around, STATE.updating = STATE.updating, PRESENT

    def __exit__(self, *exc: object) -> None:
        if self.optimizer is not None:
            STATE.updating = self.around
            notify("optimizer_done", self.action, self.optimizer)


_UNSEEN = _OptimizerCall("", None)


class _ClosureCall:
    """The program's own code that an optimizer calls in the midst of its step, as a context manager."""

    def __enter__(self) -> None:
        self.around, STATE.updating = STATE.updating, None
        notify("closure_began")

    def __exit__(self, *exc: object) -> None:
        STATE.updating = self.around
        notify("closure_ended")


def closure_call() -> _ClosureCall:
    """The context manager in which an optimizer calls its closure."""
    return _ClosureCall()


def optimizer_call(action: str, optimizer: Any) -> _OptimizerCall:
    """The context manager in which optimizers run, so that observers can distinguish their work from the program's."""
    if not observers:
        return _UNSEEN
    notify("optimizer", action, optimizer)
    return _OptimizerCall(action, optimizer)
