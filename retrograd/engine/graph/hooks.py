"""Hooks on several tensors, saved tensor hooks, and their switches."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...locks import lock
from ..core.base import wrap
from ..execution.graph_task import GraphTask
from ..execution.introspection import current_task, will_execute
from ..nodes.hooks import RemovableHandle, _MultiHandle
from ..switches.state import STATE
from .interface import _get_grad_fn_or_grad_acc, saved_tensors_hooks

# `register_multi_grad_hook`: one function for the gradients of several tensors.

_MODES = ("all", "any")


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all") -> RemovableHandle:
    """Call ``fn`` once per backward with the gradients of ``tensors``; gradients are never changed.

    ``mode="all"``: ``fn(list)`` when the gradients of all tensors that this backward reaches are there, ``None`` for
    the others; ``AssertionError`` for a tensor that does not require grad. ``mode="any"``: ``fn(grad)`` with the
    first gradient; tensors that do not require grad are skipped. ``ValueError`` for another mode.
    """
    if mode not in _MODES:
        raise ValueError(f"Expects mode to be one of {_MODES} but got {mode}")
    return _register_all(tensors, fn) if mode == "all" else _register_any(tensors, fn)


def _running_task() -> GraphTask:
    task = current_task()
    assert task is not None, "expected this hook to be called inside a backward call"
    return task


class _Gathering:
    """The gradients that arrived in one task, and how many it will deliver.

    PyTorch keeps that number once for all tasks, so that a backward inside a backward makes the outer one fire
    early or never; here each task has its own.
    """

    __slots__ = ("arrived", "expected", "grads")

    def __init__(self, nodes: list[Any]) -> None:
        self.expected = sum(node is not None and will_execute(node) for node in nodes)
        self.arrived = 0
        self.grads: list[Any] = [None] * len(nodes)


def _node_finder(t: Any) -> Callable[[], Any]:
    """Finds the node that the hook of ``t`` sits on, without keeping it: it keeps the hook."""
    node = _get_grad_fn_or_grad_acc(t)
    if not node.accumulates:
        return weakref.ref(node)
    leaf = weakref.ref(t)

    def accumulator() -> Any:
        tensor = leaf()
        found = None if tensor is None or tensor._meta is None else tensor._meta.accumulator
        return None if found is None else found()

    return accumulator


def _register_all(tensors: Sequence[Any], fn: Callable[[list[Any]], Any]) -> RemovableHandle:
    """Call ``fn`` with all gradients of a run once the last one that it computes has arrived."""
    finders = [_node_finder(t) for t in tensors]
    one_at_a_time = lock()
    gatherings: weakref.WeakKeyDictionary[GraphTask, _Gathering] = weakref.WeakKeyDictionary()

    def record(position: int, grad: Any) -> None:
        task = _running_task()
        with one_at_a_time:
            gathering = gatherings.get(task)
            if gathering is None:
                gathering = gatherings[task] = _Gathering([find() for find in finders])
            gathering.grads[position] = grad
            gathering.arrived += 1
            complete = gathering.arrived == gathering.expected
            if complete:
                del gatherings[task]
        if complete:
            fn(gathering.grads)

    return _MultiHandle([t.register_hook(functools.partial(record, i)) for i, t in enumerate(tensors)])


def _register_any(tensors: Sequence[Any], fn: Callable[[Any], Any]) -> RemovableHandle:
    """Call ``fn`` with the first gradient of a run."""
    one_at_a_time = lock()
    done: weakref.WeakSet[GraphTask] = weakref.WeakSet()

    @functools.wraps(fn)
    def first(grad: Any) -> None:
        task = _running_task()
        with one_at_a_time:
            if task in done:
                return
            done.add(task)
        fn(grad)

    return _MultiHandle([t.register_hook(first) for t in tensors if t.requires_grad])


# Ready-made saved-tensor hooks: forbid hooks, keep copies in memory, keep them on disk.

# A temporary folder of arrays whose files go away with the values, with the process, or after its death.

try:
    import fcntl
except ImportError:  # no advisory locks here: leftovers of killed processes stay for the system's own cleaning
    fcntl = None  # type: ignore[assignment]

_PREFIX = "retrograd-saved-"
_LOCK = "lock"


class SpillFolder:
    """A folder that is removed once neither its owner nor any array in it is in use.

    a lock on a file inside shows other processes that it is alive; the system drops the lock however a process
    ends, so that folders without one can be removed by whoever comes next.
    """

    def __init__(self, parent: str | None = None) -> None:
        try:
            _remove_leftovers(Path(parent or tempfile.gettempdir()))
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        except OSError as error:
            raise _explained(error, f"no temporary folder can be made in {parent or tempfile.gettempdir()}") from error
        lock = _hold(self.path / _LOCK)
        self._names = itertools.count()
        weakref.finalize(self, _remove_folder, self.path, lock, os.getpid())

    def write(self, array: Any) -> SpilledArray:
        """Write an array to a new file, which is removed on failure."""
        path = self.path / f"{next(self._names)}.npy"
        try:
            with path.open("wb") as file:
                np.save(file, array, allow_pickle=False)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise _explained(error, f"a saved value of {array.nbytes} bytes could not be written to {path}") from error
        return SpilledArray(self, path)


class SpilledArray:
    """One array on disk; its file is removed when this object dies."""

    def __init__(self, folder: SpillFolder, path: Path) -> None:
        self._folder = folder  # keeps the folder
        self.path = path
        weakref.finalize(self, _remove_file, path, os.getpid())

    def read(self) -> Any:
        """Read the array again."""
        try:
            return np.load(self.path, allow_pickle=False)
        except OSError as error:
            raise _explained(error, f"a saved value could not be read from {self.path}") from error


def _explained(error: OSError, what: str) -> OSError:
    remedy = "give save_on_disk(folder=...) a folder that exists, may be written and has room"
    return OSError(error.errno, f"{what}: {error.strerror or error}; {remedy}")


def _hold(path: Path) -> IO[bytes]:
    """Make the lock file and lock it for as long as it is open."""
    unlocked = path.with_suffix(".new")
    file = unlocked.open("wb")
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks: the folder is then only removed by us
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    unlocked.rename(path)  # only now can others see it
    return file


def _remove_file(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not delete what its parent still needs
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _remove_folder(path: Path, lock: IO[bytes], owner: int) -> None:
    lock.close()
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def _remove_leftovers(parent: Path) -> None:
    """Remove the folders of processes that were killed before they could do it."""
    if fcntl is None:
        return
    for folder in parent.glob(_PREFIX + "*"):
        with contextlib.suppress(OSError), (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """While this is open, entering ``saved_tensors_hooks`` raises ``RuntimeError(error_message)`` in this thread.

    Raises it at once when hooks are active already. The message of the innermost context counts. Also a decorator.
    """
    if STATE.saved_hooks:
        raise RuntimeError(error_message)
    before = STATE.saved_hooks_disabled
    STATE.saved_hooks_disabled = error_message
    try:
        yield
    finally:
        STATE.saved_hooks_disabled = before


def _saved_tensors_hooks_get_disabled_error_message() -> str | None:
    """The message that entering hooks raises now, or ``None`` when it is allowed."""
    return STATE.saved_hooks_disabled


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether saved-tensor hooks may be entered in this thread."""
    return STATE.saved_hooks_disabled is None


def _saved_tensors_hooks_disable(error_message: str) -> None:
    """Let entering hooks raise from here on in this thread."""
    STATE.saved_hooks_disabled = error_message


def _saved_tensors_hooks_enable() -> None:
    """Let hooks be entered again in this thread."""
    STATE.saved_hooks_disabled = None


def _push_saved_tensors_default_hooks(pack_hook: Any, unpack_hook: Any) -> None:
    """Enter ``saved_tensors_hooks``."""
    saved_tensors_hooks(pack_hook, unpack_hook).__enter__()


def _pop_saved_tensors_default_hooks() -> None:
    """Leave the innermost ``saved_tensors_hooks``."""
    if not STATE.saved_hooks:
        raise RuntimeError("there are no hooks for saved tensors in this thread")
    saved_tensors_hooks(None, None).__exit__()


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> tuple[Any, Any] | None:
    """The innermost pair of hooks, or ``None``."""
    return STATE.saved_hooks[-1] if STATE.saved_hooks else None


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - torch's name
    """Keep a copy of every saved tensor, so that later in-place writes cannot reach what backward reads.

    PyTorch keeps a CPU tensor itself unless ``pin_memory`` is set, and then a later write changes the gradient
    without an error; here both ways copy. ``device_type`` is accepted and ignored: there is only the CPU.
    """

    __module__ = "retrograd.autograd.graph"

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(_copy_to_cpu, _back_to_device)
        self.pin_memory = pin_memory
        self.device_type = device_type


def _copy_to_cpu(t: Any) -> tuple[Any, Any]:
    return t.device, t.detach().clone()


def _back_to_device(packed: tuple[Any, Any]) -> Any:
    return packed[1]


class save_on_disk(saved_tensors_hooks):  # noqa: N801 - named after save_on_cpu
    """Keep every saved tensor in a separate file and read it again when backward needs it.

    ``folder`` is where a temporary folder is made (default: the system's place for such). A file is removed as soon
    as its value is released, the temporary folder together with the last of them, and what a killed process left
    behind when the next one starts to save there. Raises ``OSError`` from the forward operation when a value cannot
    be written.
    """

    def __init__(self, folder: str | None = None) -> None:
        spill = self._spill = SpillFolder(folder)
        # The hook does not refer to this object: the folder goes with its last value, not when cycles are collected.
        super().__init__(lambda t: spill.write(t._array), _read_back)

    @property
    def folder(self) -> str:
        """The temporary folder that holds the files."""
        return str(self._spill.path)


def _read_back(packed: Any) -> Any:
    return wrap(packed.read())


# PyTorch's settings for GPUs and compiled regions: accepted and checked, without effect here.


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Do nothing: there are no streams on the CPU."""
    _check_switch(enabled)


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Do nothing: there is no capture on the CPU."""
    _check_switch(enabled)


def _check_switch(enabled: Any) -> None:
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")


def region_activation_memory_budget(budget: Any) -> Any:
    """Only for compiled regions, which do not exist here.

    Raises ``TypeError`` for a non-number, ``ValueError`` outside of [0, 1], else ``RuntimeError``.
    """
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"region_activation_memory_budget expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"region_activation_memory_budget must be in [0, 1], got {budget}")
    raise RuntimeError(
        "region_activation_memory_budget can only be used inside a torch.compile region, and there is none in "
        "retrograd; use utils.checkpoint.checkpoint to save memory instead"
    )
