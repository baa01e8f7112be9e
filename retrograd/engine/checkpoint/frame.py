"""One checkpointed block: what it kept, and the random state at its beginning."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from .. import observe
from ..forward_mode.forward_ad import _set_fwd_grad_enabled
from ..function.function import Function
from ..graph.interface import saved_tensors_hooks
from ..random import get_rng_state, set_rng_state
from ..switches.modes import enable_grad
from ..switches.state import STATE

# Random numbers in both runs of a checkpointed function: the recomputation draws what the first run drew.


def remembered(preserve: bool) -> Any:
    """The generator's state, or ``None`` if it is not to be preserved."""
    return get_rng_state() if preserve else None


@contextmanager
def replayed(state: Any) -> Iterator[None]:
    """Inside the block random numbers continue from ``state``; afterwards from where they were."""
    if state is None:
        yield
        return
    outside = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(outside)


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """The devices other than the CPU where ``args`` are, and their random states: there are none."""
    return [], []


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Put the states of ``get_device_states`` back."""


# Recomputation without a nested backward pass: what one checkpointed call stores instead of its saved tensors.

Metadata = Callable[[Any], Any]


class CheckpointError(RuntimeError):
    """A checkpointed function did not do the same thing again, or a recomputed value was asked for twice."""

    __module__ = "retrograd.utils.checkpoint"


class StopRecomputation(Exception):  # noqa: N818 - a signal, not an error
    """All that backward needs has been computed again."""


DEBUG_TIP: Final = (
    "\n\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint-debug mode globally.\n"
)


class _Value:
    """Key of one recomputed value, which lives as long as its key."""

    __slots__ = ("__weakref__",)


class Holder:
    """Stands in a node for one tensor that was not saved."""

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: dict[Any, _Value | None] = {}
        """By run: the recomputed value, ``None`` once it was handed out."""


class _Recomputed:
    """What one run has computed again."""

    def __init__(self) -> None:
        self.count = 0
        self.done = False
        self.tensors: weakref.WeakKeyDictionary[_Value, Any] = weakref.WeakKeyDictionary()


class SaveInputs(Function):
    """Keeps the call's tensors as a node keeps its inputs, so that versions are checked and outer hooks apply."""

    generate_vmap_rule = True

    @staticmethod
    def forward(switch: Any, *tensors: Any) -> Any:
        """The result only serves to find the node."""
        return switch.detach().clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save everything but the switch."""
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Never part of a graph that is run."""
        raise AssertionError("the node that keeps a checkpoint's inputs was run")


class Frame:
    """One checkpointed call."""

    def __init__(self, function: Callable[..., Any], *, early_stop: bool, metadata: Metadata) -> None:
        self.function = function
        """Runs the function again in the right surroundings, given its positional arguments."""
        self.early_stop = early_stop
        self.metadata = metadata
        self.holders: list[weakref.ref[Holder]] = []
        self.metadatas: list[Any] = []
        self.recomputed: dict[Any, _Recomputed] = {}
        self.forward_completed = False
        self.is_partial = False
        """A backward inside the forward met a frame that was not complete: numbers cannot be compared."""
        self.explain: Callable[[CheckpointError], NoReturn] | None = None
        self.inputs: Any = None
        self.places: list[int] = []
        self.others: list[Any] = []

    def save_inputs(self, switch: Any, args: tuple[Any, ...], is_tensor: Callable[[Any], bool]) -> bool:
        """Remember the arguments; ``False`` if nothing is being recorded, so that nothing will be asked for."""
        self.places = [i for i, value in enumerate(args) if is_tensor(value)]
        self.others = [None if is_tensor(value) else value for value in args]
        with _set_fwd_grad_enabled(False):
            self.inputs = SaveInputs.apply(switch, *(args[i] for i in self.places)).grad_fn
        return self.inputs is not None

    def saved_inputs(self) -> list[Any]:
        """The arguments, checked for writes since."""
        args = list(self.others)
        for place, tensor in zip(self.places, self.inputs.saved_tensors, strict=True):
            args[place] = tensor
        return args

    # -- hooks of the forward
    def hooks(self) -> Any:
        """Saved-tensor hooks for the original run."""
        return saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, tensor: Any) -> Holder:
        """Remember that something was saved, and what it looked like."""
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        self.metadatas.append(self.metadata(tensor))
        return holder

    def unpack(self, holder: Holder) -> Any:
        """The value for a holder, computed again if this run has not done so yet."""
        run = current_run()
        state = self.recomputed.setdefault(run, _Recomputed())
        if not state.done:
            self.recompute(run, state)
        if run not in holder.values:
            self.fail("A tensor that was saved in the forward was not saved during recomputation.")
        value = holder.values[run]
        if value is None:
            self.fail_unpacked_twice()
        holder.values[run] = None
        return state.tensors[value]

    # -- the second run
    def recompute(self, run: Any, state: _Recomputed) -> None:
        """Run the function again and give the values it saves to their holders."""
        args = self.saved_inputs()
        hooks = _recomputation_hooks(weakref.ref(self), run)
        if observe.observers:
            observe.notify("checkpoint", "recompute", self)
        try:
            with hooks, enable_grad():
                self.function(*args)
        except StopRecomputation:
            pass
        finally:
            if observe.observers:
                observe.notify("checkpoint", "ended", self)
        state.done = True
        self.check_match(run, state)

    def receive(self, run: Any, tensor: Any) -> Any:
        """One value saved by the second run."""
        state = self.recomputed[run]
        index = state.count
        state.count += 1
        kept = tensor.detach() if tensor.requires_grad else tensor
        if index >= len(self.holders):
            if self.forward_completed:
                self.fail("trying to save more tensors during recomputation than during the original forward pass.")
            self.is_partial = True
            return kept
        holder = self.holders[index]()
        if holder is not None:
            value = _Value()
            holder.values[run] = value
            state.tensors[value] = kept
        if self.early_stop and state.count == len(self.holders):
            raise StopRecomputation
        return kept

    def check_match(self, run: Any, state: _Recomputed) -> None:
        """Raise unless the second run saved as many tensors as the first, of the same shapes and dtypes."""
        if self.is_partial:
            return
        if state.count != len(self.holders):
            self.fail(
                "A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {state.count}."
            )
        different = []
        for index, ref in enumerate(self.holders):
            holder = ref()
            value = holder.values.get(run) if holder is not None else None
            if value is None:
                continue
            now, before = self.metadata(state.tensors[value]), self.metadatas[index]
            if now != before:
                different.append(f"tensor at position {index}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n")
        if different:
            self.fail(
                "Recomputed values for the following tensors have different metadata than during the forward pass.\n"
                + "".join(different)
                + "Make the checkpointed function do the same computation each time it is called."
            )

    def fail_unpacked_twice(self) -> NoReturn:
        """A value was asked for again in a run that already had it."""
        where = (
            "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute "
            "gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
            if _GROUP.current is not None
            else ""
        )
        raise CheckpointError(
            "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
            f"{where}If you are calling ctx.saved_tensors in backward, make sure to do so only once."
        )

    def fail(self, text: str) -> NoReturn:
        """Raise ``CheckpointError``, with the operators of both runs if they were recorded."""
        error = CheckpointError(f"torch.utils.checkpoint: {text}" + ("" if self.explain is not None else DEBUG_TIP))
        if self.explain is not None:
            self.explain(error)
        raise error


def _recomputation_hooks(frame_ref: weakref.ref[Frame], run: Any) -> Any:
    """Hooks for the second run; a backward inside the function reads values back without packing."""

    def pack(tensor: Any) -> Any:
        frame = frame_ref()
        assert frame is not None
        return frame.receive(run, tensor)

    return saved_tensors_hooks(pack, lambda tensor: tensor)


class _Group(threading.local):
    current: GraphExecGroup | None = None


_GROUP = _Group()


class GraphExecGroup:
    """Context manager: backward calls inside share one recomputation of each checkpointed region.

    The calls must not need the same saved value twice, even with ``retain_graph=True``.
    """

    __module__ = "retrograd.utils.checkpoint"

    def __enter__(self) -> GraphExecGroup:
        if _GROUP.current is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {_GROUP.current}")
        _GROUP.current = self
        return self

    def __exit__(self, *exc: object) -> None:
        _GROUP.current = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _GROUP.current


def current_run() -> Any:
    """What recomputed values belong to: the group, the running backward, or (outside of both) this access alone."""
    if _GROUP.current is not None:
        return _GROUP.current
    return STATE.tasks[-1].id if STATE.tasks else object()


def default_metadata(tensor: Any) -> dict[str, Any]:
    """What must agree between both runs."""
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


DETERMINISM_CHECKS: Final[dict[str, Metadata]] = {"default": default_metadata, "none": lambda tensor: None}
