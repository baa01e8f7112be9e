"""Hooks on the nodes of one graph for one backward pass; those of a breakpoint pass the nodes on as they run."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ....program.signals import reraise_from_handler
from ...base import Elsewhere, Node, Origins, Ran
from ...collect import short_name
from ...patches import Patches
from ..calls.calls import is_traced
from ..library import LIBRARY, loaded_torch
from ..own_work import own_work
from ..private import private
from ..values.readbacks import ALL, READBACKS, Promise
from ..values.values import Readable
from ..watching.own_numbers import own_numbers

# Hooks on the nodes of one graph for one backward pass, all removed together.

_hanging: dict[int, NodeHooks] = {}
"""Thread -> the ``NodeHooks`` that is registering hooks there."""


class NodeHooks:
    """Registers hooks, and removes them again."""

    def __init__(self) -> None:
        self._entered: list[Any] = []
        """For each hook the dictionary that holds it under this object; its handle if PyTorch returned one."""

    def before(self, hooks: Iterable[tuple[Node, Callable[[Any], None]]]) -> None:
        """Register hooks that are called with all incoming gradients before their nodes run."""
        self._hang((node.register_prehook, hook) for node, hook in hooks)

    def after(self, hooks: Iterable[tuple[Node, Callable[[Any, Any], None]]]) -> None:
        """Register hooks that are called with results and incoming gradients of their nodes."""
        self._hang((node.register_hook, hook) for node, hook in hooks)

    def _hang(self, hooks: Iterable[tuple[Callable[[Any], Any], Any]]) -> None:
        """Register hooks."""
        note, thread = self._entered.append, threading.get_ident()
        around = _hanging.get(thread)
        _hanging[thread] = self
        try:
            for register, hook in hooks:
                note(register(hook))
        finally:
            if around is None:
                del _hanging[thread]
            else:
                _hanging[thread] = around

    def remove(self) -> None:
        """Remove all, as handles would, but unnoticed by code that observes removals."""
        while self._entered:
            entered = self._entered.pop()
            if type(entered) is OrderedDict:
                entered.pop(self, None)
            else:
                hooks = entered.hooks_dict_ref()
                if hooks is not None:
                    hooks.pop(entered.id, None)


def install_entering(patches: Patches) -> None:
    """Let hooks of ``NodeHooks`` be registered without handles."""
    for cls in LIBRARY.torch.autograd.Function.__mro__:
        if "_register_hook" in vars(cls):
            patches.wrap_directly(cls, "_register_hook", _wrap_register)
            return


def _wrap_register(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make registering enter hooks of ``NodeHooks`` directly; for others it is unchanged."""

    def _register_hook(hooks: Any, hook: Any) -> Any:
        mine = _hanging.get(threading.get_ident())
        if mine is None:
            return original(hooks, hook)
        if hooks is None:
            hooks = OrderedDict()  # of the program's own type, which may add hooks
        hooks[mine] = hook
        return hooks, hooks

    return _register_hook


# Passes PyTorch's nodes to a breakpoint as they run, through hooks that exist for one backward pass.


@contextmanager
def stepping(
    look: Callable[[Ran], None], nodes_behind: Callable[[list[Any]], list[Node]], origins: Callable[[], Origins | None]
) -> Iterator[None]:
    """Call ``look`` for each node of the passes that this thread starts; does nothing without PyTorch."""
    torch = loaded_torch()
    if torch is None:
        yield
        return
    thread = threading.get_ident()

    def hooked(original: Callable[..., Any]) -> Callable[..., Any]:
        def _engine_run_backward(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != thread or is_traced():
                return original(t_outputs, *args, **kwargs)
            remove = _attach(torch, nodes_behind(list(t_outputs)), look, origins())
            try:
                return original(t_outputs, *args, **kwargs)
            finally:
                remove()

        return _engine_run_backward

    patches = Patches()
    for holder in (torch.autograd.graph, torch.autograd):
        patches.wrap(holder, "_engine_run_backward", hooked)
    try:
        yield
    finally:
        patches.undo()


def _attach(torch: Any, order: list[Node], look: Callable[[Ran], None], origins: Origins | None) -> Callable[[], None]:
    """Register a hook on every node; the function returned removes the hooks."""
    current = private().running_node

    def after(grad_inputs: Any, grad_outputs: Any) -> None:
        node = current()
        line = None
        if origins is not None:
            (line,), *_ = origins.find([node._sequence_nr()])
        with own_work(), torch.no_grad():
            incoming, outgoing = _arrays(torch, grad_outputs), _arrays(torch, grad_inputs)
        look(Ran(short_name(node.name()), line, incoming, outgoing))

    with own_numbers():
        handles = [node.register_hook(after) for node in order]

    def remove() -> None:
        while handles:
            handles.pop().remove()
        order.clear()  # until then, for a leaf that a run starts from keeps no node of its own alive

    return remove


def _arrays(torch: Any, gradients: Any) -> tuple[Any, ...]:
    """Return gradients for conditions; the statistics of those on other devices are read back together."""
    readable = Readable()
    asked = [None if g is None or not readable.is_far(g) else READBACKS.ask(g, ALL) for g in gradients]
    found = (_elsewhere(torch, g, promise) for g, promise in zip(gradients, asked, strict=True))
    return tuple(None if g is None else far or _array(torch, g) for g, far in zip(gradients, found, strict=True))


def _elsewhere(torch: Any, gradient: Any, promise: Promise | None) -> Elsewhere | None:
    """Return a gradient on another device by its statistics; None for one on the CPU, or without statistics."""
    if promise is None or promise.all is None:
        return None
    bad = int(promise["nan"]), int(promise["bad"] - promise["nan"]), int(promise["first_bad"])
    return Elsewhere(tuple(gradient.shape), bad, int(promise["zeros"]), partial(_array, torch, gradient))


def _array(torch: Any, gradient: Any) -> Any:
    """Return a gradient as a read-only NumPy array, None if it cannot be one."""
    try:
        plain = gradient.detach()
        if plain.dtype == torch.bfloat16:
            plain = plain.float()
        array = plain.cpu().numpy()
        array.flags.writeable = False
        return array
    except Exception as failure:
        reraise_from_handler(failure)
        return None
