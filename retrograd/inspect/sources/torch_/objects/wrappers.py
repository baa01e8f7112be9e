"""Records the arguments of ``torch.compile``, wrappers and trainers when they are made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

from .....interpreter import getframe
from ....program.frames import is_foreign, source_line, user_frame
from ....program.modules import attribute, held_parameters, is_module
from ....program.places import SourceLine
from ....program.signals import reraise_from_handler
from ....recording.events import Event
from ...importing import AfterImport
from ...patches import Patches
from ..calls.calls import is_traced
from ..calls.tensors import numbers_of
from ..library import LIBRARY
from ..problems import safely, unseen

# Records the arguments of `torch.compile`, and lets the function run uncompiled where that was requested.

_EAGER, _USUAL = "force_eager", "default"


class Compilation:
    """Wraps ``torch.compile`` while recording."""

    def __init__(self, watches: Callable[[], Iterable[Any]], tell: Callable[..., None]) -> None:
        """``tell`` is called with the compiled object, the settings, and the line."""
        self._watches, self._tell = watches, tell
        self._eager = False

    def install(self, patches: Patches) -> None:
        """Install the wrapper."""
        patches.wrap(LIBRARY.torch, "compile", self._wrap)

    def uninstall(self) -> None:
        """Let PyTorch compile the program's regions again."""
        if self._eager:
            LIBRARY.torch.compiler.set_stance(_USUAL)
            self._eager = False

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note what is about to be compiled; as a decorator with arguments it is called again with that."""

        def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
            if model is not None:
                try:
                    self._note(model, kwargs)
                except Exception as failure:
                    reraise_from_handler(failure)
            return original(model, *args, **kwargs)

        return compile

    def _note(self, model: Any, settings: dict[str, Any]) -> None:
        """Report a region to every recording, unless it runs uncompiled."""
        line = source_line(user_frame(getframe(2)))
        self._tell(model, settings, line)
        watches = list(self._watches())
        if any(watch.sink.eager for watch in watches):
            self._run_eagerly()
        for watch in watches:
            if not self._eager:
                watch.sink.mention(line)
                watch.sink.missed("stance" if watch.sink.eager else "regions", "")

    def _run_eagerly(self) -> None:
        """Make PyTorch run regions uncompiled, if this release can."""
        set_stance = getattr(LIBRARY.torch.compiler, "set_stance", None)
        if set_stance is not None and not self._eager:
            set_stance(_EAGER)
            self._eager = True


# Records the arguments of wrappers and trainers, of PyTorch and of other libraries, when they are constructed.

_WRAPS, _PREPARES = "wrapper", "prepared"
Held = Sequence[tuple[str, Any]]
"""Parameters with their names."""
_NOTHING: Mapping[str, Iterable[str]] = {}


class _Taker(NamedTuple):
    """A function or method that takes modules, its location, and what to report about it."""

    module: str
    path: str
    kind: str = _WRAPS
    settings: tuple[str, ...] = ()
    """Names of reported attributes of the object that takes them."""
    of_tensors: bool = False
    """Whether its parameters are tensors that know the other shards (``DTensor``)."""

    @property
    def makes(self) -> bool:
        """Whether it is a class that is called with modules."""
        return self.path.endswith("__init__")


_SHARDED = "torch.distributed.fsdp.fully_sharded_data_parallel"
_ACCELERATE = ("mixed_precision", "gradient_accumulation_steps")
_FIT = ("precision", "gradient_clip_val", "accumulate_grad_batches")
_TAKERS = (
    _Taker(
        "torch.nn.parallel.distributed",
        "DistributedDataParallel.__init__",
        _WRAPS,
        ("find_unused_parameters", "static_graph"),
    ),
    _Taker(_SHARDED, "FullyShardedDataParallel.__init__"),
    _Taker("torch.distributed.fsdp", "fully_shard", of_tensors=True),
    _Taker("torch.distributed._composable.fsdp", "fully_shard", of_tensors=True),
    _Taker("torch.distributed.tensor", "distribute_tensor", of_tensors=True),
    _Taker("torch.distributed.tensor", "distribute_module", of_tensors=True),
    _Taker("torch.distributed.tensor.parallel", "parallelize_module", of_tensors=True),
    _Taker("accelerate.accelerator", "Accelerator.prepare", _PREPARES, _ACCELERATE),
    _Taker("lightning.pytorch.trainer.trainer", "Trainer.fit", _PREPARES, _FIT),
    _Taker("pytorch_lightning.trainer.trainer", "Trainer.fit", _PREPARES, _FIT),
    _Taker("lightning.fabric.fabric", "Fabric.setup", _PREPARES),
    _Taker("lightning_fabric.fabric", "Fabric.setup", _PREPARES),
)


class Wrappers:
    """Sends events to every recording of level ``full``."""

    def __init__(self, watches: Callable[[], Iterable[Any]], about_group: Callable[..., dict[str, Any]]) -> None:
        self._watches, self._about_group = watches, about_group
        self._waiting: AfterImport | None = None

    def install(self, patches: Patches) -> None:
        """Wrap what is loaded, and the rest once it is."""
        waiting: dict[str, list[_Taker]] = {}
        for taker in _TAKERS:
            if taker.module in sys.modules:
                self._follow(patches, [taker])
            else:
                waiting.setdefault(taker.module, []).append(taker)
        if waiting:
            calls = {module: partial(self._follow, patches, takers) for module, takers in waiting.items()}
            module, call = calls.popitem()
            self._waiting = AfterImport(module, call, **calls)
            self._waiting.begin()

    def uninstall(self) -> None:
        """Stop waiting."""
        if self._waiting is not None:
            self._waiting.end()

    def _follow(self, patches: Patches, takers: Iterable[_Taker]) -> None:
        for taker in takers:
            holder, _, name = taker.path.rpartition(".")
            module: Any = sys.modules[taker.module]
            patches.wrap(getattr(module, holder, None) if holder else module, name, partial(self._wrap, taker))

    def _wrap(self, taker: _Taker, original: Callable[..., Any]) -> Callable[..., Any]:
        def taking(*args: Any, **kwargs: Any) -> Any:
            caller = getframe(2)
            if is_foreign(caller.f_code) or is_traced():  # one that another one calls
                return original(*args, **kwargs)
            given = [*args, *kwargs.values()]
            held = safely(_held, taker, given) or []
            if taker.kind == _PREPARES:  # it may work with them for long
                unseen(self._report_prepared, taker, given, held, caller)
                return original(*args, **kwargs)
            result = original(*args, **kwargs)
            unseen(self._report_wrapper, taker, given, held, result, caller)
            return result

        return taking

    def _report_wrapper(self, taker: _Taker, given: list[Any], held: Held, result: Any, caller: FrameType) -> None:
        """Report what shards parameters, or keeps their replicas equal."""
        wrapper = given[0] if taker.makes else None
        held = [*held, *_left(taker, given, result)]
        op = taker.path if wrapper is None else type(wrapper).__name__
        kept_whole = taker.module.startswith("torch.nn.")
        data: dict[str, Any] = {"type": op, "sharded": not kept_whole}
        if wrapper is not None:
            data |= self._about_group(attribute(wrapper, "process_group"), counts=False)
        if taker.of_tensors:
            data["dtensor"] = True
        strategy = getattr(wrapper, "sharding_strategy", None)
        if strategy is not None:
            data["strategy"] = str(getattr(strategy, "name", strategy))
        data |= {key: value for key, value in _settings(taker, wrapper).items() if isinstance(value, bool)}
        left_out: dict[str, Iterable[str]] = {}
        if kept_whole:
            left_out["untrained"] = [name for name, parameter in held if not parameter.requires_grad]
            left_out["left_alone"] = [*(attribute(wrapper, "parameters_to_ignore") or ())]
        self._tell(Event("wrapper", op, source_line(user_frame(caller)), data), held, left_out)

    def _report_prepared(self, taker: _Taker, given: list[Any], held: Held, caller: FrameType) -> None:
        """Report what is passed to a trainer."""
        trainer, *rest = given
        kinds = [type(one).__name__ for one in rest if hasattr(one, "__dict__")]
        data = {"type": type(trainer).__name__, "names": kinds, "arguments": _settings(taker, trainer)}
        name = taker.path.rpartition(".")[2]
        self._tell(Event("prepared", name, source_line(user_frame(caller)), data), held)

    def compiles(self, model: Any, settings: dict[str, Any], line: SourceLine | None) -> None:
        """Report a module or function that is passed to ``torch.compile``."""
        held = held_parameters(model) if is_module(model) else []
        name = type(model).__name__ if is_module(model) else getattr(model, "__qualname__", type(model).__name__)
        plain = {key: value for key, value in settings.items() if isinstance(value, (str, bool))}
        self._tell(Event("prepared", "compile", line, {"type": "compile", "names": [name], "arguments": plain}), held)

    def _tell(self, event: Event, held: Held, left_out: Mapping[str, Iterable[str]] = _NOTHING) -> None:
        for watch in self._watches():
            if watch.forward is not None:
                tensors = [parameter for _, parameter in held]
                numbers = numbers_of(watch.sink.tensors, tensors, source=event.source)
                parameters = {name: number for (name, _), number in zip(held, numbers, strict=True)}
                data = {**event.data, "parameters": parameters, "inputs": list(dict.fromkeys(numbers))}
                for key, names in left_out.items():
                    data[key] = [parameters[name] for name in names if name in parameters]
                watch.sink(Event(event.kind, event.op, event.source, data))


def _held(taker: _Taker, given: list[Any]) -> Held:
    """Return the parameters that are passed, if they stay the same objects."""
    modules = [one for one in given[1 if taker.makes else 0 :] if is_module(one)]
    return [] if taker.of_tensors else [pair for one in modules for pair in held_parameters(one)]


def _left(taker: _Taker, given: list[Any], result: Any) -> Held:
    """Return the parameters of a new wrapper, if they are others than were passed."""
    made = given[0] if taker.makes else result
    if isinstance(made, LIBRARY.torch.Tensor):
        return [("", made)]
    return [] if taker.module.startswith("torch.nn.") or not is_module(made) else held_parameters(made)


def _settings(taker: _Taker, holder: Any) -> dict[str, Any]:
    """Return the attributes to report that are plain values."""
    found = {name: getattr(holder, name, None) for name in taker.settings if holder is not None}
    return {name: value for name, value in found.items() if isinstance(value, (bool, int, float, str))}
