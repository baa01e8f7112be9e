"""Records collectives of torch.distributed, and process groups.

What a wrapper's reducer sends in C++ cannot be observed; ``wrappers`` records the wrapper itself.
"""

from __future__ import annotations

import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import sleep  # as it is now: a program may replace it
from typing import Any

from .....interpreter import getframe
from ....program.frames import source_line, user_frame
from ....program.stacks import stack_of
from ....recording.events import Event
from ...patches import Patches
from ..calls.calls import Inside
from ..calls.tensors import dtype_name, numbers_of, shape_of
from ..library import LIBRARY
from ..private import private
from ..problems import unseen

_TOGETHER = (
    *("all_reduce", "all_reduce_coalesced", "reduce", "broadcast", "barrier", "monitored_barrier"),
    *("all_gather", "all_gather_single", "all_gather_into_tensor", "all_gather_coalesced", "gather", "scatter"),
    *("reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "all_to_all", "all_to_all_single"),
    *("all_gather_object", "gather_object", "scatter_object_list", "broadcast_object_list", "new_group"),
)
_ROOTS = ("src", "dst", "group_src", "group_dst")
"""Parameters of collectives for the rank that sends, or receives, what others receive or send."""
_PAIRS = ("send", "recv", "batch_isend_irecv")
"""Between two processes.  ``isend`` and ``irecv`` are not wrapped: PyTorch identifies a ``P2POp`` by them."""


_LET_GO = 0.05
"""Seconds in which threads of a busy machine get Python's lock."""


def let_collectives_end() -> None:
    """Give the threads of gloo time to let go of work that is done.

    Work holds what was in force where it was asked for: function modes, and the context of a backward pass.  Whoever
    holds these last takes Python's lock to free them, and a group of processes that is freed, by a ``Reducer`` say,
    keeps that lock while it waits for these threads: if both meet, the program hangs.  PyTorch alone has that race,
    too, but there the thread mostly gets the lock in time.  Nothing tells whether a thread waits for it.
    """
    if private().is_in_a_job():
        sleep(_LET_GO)


def _wrap_destroying(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make what destroys groups, which a model may be the last to hold from then on, wait for their threads before."""

    def destroy_process_group(*args: Any, **kwargs: Any) -> Any:
        unseen(let_collectives_end)
        return original(*args, **kwargs)

    return destroy_process_group


@dataclass(slots=True)
class _Call:
    """A collective in progress."""

    tensors: list[Any] = field(default_factory=list)
    events: list[tuple[Any, Event]] = field(default_factory=list)
    """Recordings and their events for this call."""
    error: str = ""


class Collectives:
    """Sends ``collective`` to every recording of level ``full``."""

    def __init__(self, watches: Callable[[], Iterable[Any]], inside: Callable[[], Inside]) -> None:
        self._watches, self._inside = watches, inside
        self._here = threading.local()
        self._groups: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._counts: dict[int, int] = {}
        """Number of collectives of each group so far."""

    def install(self, patches: Patches) -> None:
        """Install the wrappers, if this PyTorch supports several processes."""
        torch: Any = LIBRARY.torch
        distributed = torch.distributed
        if not distributed.is_available():
            return
        defined = sys.modules.get("torch.distributed.distributed_c10d")
        for name in (*_TOGETHER, *_PAIRS):
            original = getattr(distributed, name, None)
            patches.wrap(distributed, name, self._wrapper(name))
            if original is not None and getattr(defined, name, None) is original:  # one object in both places
                patches.wrap_directly(defined, name, _returning(getattr(distributed, name)))
        patches.wrap(distributed.P2POp, "__init__", self._wrapper("P2POp"))
        patches.wrap(distributed, "init_process_group", self._wrap_start)
        patches.wrap(distributed, "destroy_process_group", _wrap_destroying)
        patches.wrap(torch.nn.parallel.DistributedDataParallel, "no_sync", self._wrap_unsynced)

    # -- collectives
    def _wrapper(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a function that wraps a collective to report calls, but not collectives that it calls itself."""

        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            def collective(*args: Any, **kwargs: Any) -> Any:
                if getattr(self._here, "within", False):
                    return original(*args, **kwargs)
                self._here.within = True
                call = _Call()
                unseen(self._begin, call, name, original, args, kwargs, getframe(2))
                try:
                    return original(*args, **kwargs)
                except BaseException as raised:
                    call.error = f"{type(raised).__name__}: {raised}"
                    raise
                finally:
                    self._here.within = False
                    unseen(self._end, call)

            return collective

        return wrap

    def _begin(self, call: _Call, name: str, original: Any, args: Any, kwargs: Any, caller: Any) -> None:
        """Send the event of a collective that begins, in which the process may wait forever."""
        given = _bound(original, args, kwargs)
        if given.get("use_local_synchronization"):
            return  # a group that only its members make
        frame = user_frame(caller)
        line, data = source_line(frame), self.about_group(given.get("group"), counts=name in _TOGETHER)
        if len(stack := stack_of(frame)) > 1:
            data["stack"] = stack
        call.tensors = [one for value in given.values() for one in _tensors(value)]
        data["shapes"] = [list(shape_of(one)) for one in call.tensors]
        data["dtypes"] = [dtype_name(one.dtype) for one in call.tensors]
        data["requires_grad"] = [bool(one.requires_grad) for one in call.tensors]
        data["grad"] = LIBRARY.torch.is_grad_enabled() and not self._inside().functions
        data["run"] = self._inside().run
        roots = [given[name] for name in _ROOTS if isinstance(given.get(name), int)]
        if roots:
            data["root"] = roots[0]
        if (reduces := getattr(given.get("op"), "name", "SUM")) != "SUM":
            data["reduces"] = str(reduces)
        if given.get("async_op"):
            data["asynchronous"] = True
        for watch in self._watches():
            if watch.forward is None:
                continue
            table = watch.sink.tensors
            numbers = numbers_of(table, call.tensors, source=line)
            known = watch.forward.gradients
            pairs = zip(numbers, call.tensors, strict=True)
            leaves = [known.leaf_of(number, table.memory_of(number), tensor.numel()) for number, tensor in pairs]
            named = [leaf for leaf in leaves if leaf is not None]
            event = Event("collective", name, line, {**data, "inputs": numbers, "gradients_of": named, "pending": True})
            watch.sink(event)
            call.events.append((watch, event))

    def _end(self, call: _Call) -> None:
        """Complete the event of a collective that returned or raised."""
        for watch, event in call.events:
            del event.data["pending"]
            if call.error:
                event.data["error"] = call.error
            watch.forward.received(event.data["inputs"], call.tensors)

    def about_group(self, group: Any, *, counts: bool) -> dict[str, Any]:
        """Return the data about a group, and the number of this call among its collectives."""
        distributed: Any = LIBRARY.torch.distributed
        if not distributed.is_initialized():
            return {}
        known = len(self._groups)
        number = 0 if group is None else self._number(group)
        data = {"group": number, "group_size": distributed.get_world_size(group), "rank": distributed.get_rank()}
        if len(self._groups) > known:
            data["members"] = list(distributed.get_process_group_ranks(group))
        if counts:
            data["sequence"] = self._counts[number] = self._counts.get(number, -1) + 1
        return data

    def _number(self, group: Any) -> int:
        """Return the number of a group, 0 for the group of all processes."""
        if group is LIBRARY.torch.distributed.group.WORLD:
            return 0
        if group not in self._groups:
            self._groups[group] = len(self._groups) + 1
        return self._groups[group]

    # -- what is made
    def _wrap_start(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            finally:
                unseen(self._tell, "init_process_group", getframe(2))

        return init_process_group

    def _wrap_unsynced(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Make a wrapper report the lines that switch off its reduction."""

        def no_sync(wrapper: Any, *args: Any, **kwargs: Any) -> Any:
            unseen(self._tell, "no_sync", getframe(2))
            return original(wrapper, *args, **kwargs)

        return no_sync

    def _tell(self, name: str, caller: Any) -> None:
        """Send an event about the group of all processes to every recording."""
        data, line = self.about_group(None, counts=False), source_line(user_frame(caller))
        for watch in self._watches():
            if watch.forward is not None and data:
                watch.sink(Event("collective", op=name, source=line, data=dict(data)))


def _returning(wrapper: Any) -> Callable[[Any], Any]:
    """Return a function that wraps anything by the same wrapper."""
    return lambda _: wrapper


def _bound(original: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return arguments by the names of their parameters."""
    try:
        return dict(inspect.signature(original).bind_partial(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {**{str(place): value for place, value in enumerate(args)}, **kwargs}


def _tensors(value: Any) -> list[Any]:
    """Return the tensors in an argument."""
    tensor: type = LIBRARY.torch.Tensor
    if isinstance(value, tensor):
        return [value]
    entries = value if isinstance(value, (list, tuple)) else ()
    inner = (getattr(one, "tensor", None) if type(one).__name__ == "P2POp" else one for one in entries)
    return [one for one in inner if isinstance(one, tensor)]
