"""Hook dictionaries, their handles, and the rules for what a hook may return."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from .. import observe
from ..core.base import Hook, TensorBase
from ..core.narrow import EIGHT_BITS
from ..core.sig import Sig
from ..warning import warn


class RemovableHandle:
    """Removes a hook: by ``handle.remove()``, or at the end of a ``with`` block.

    ``hooks_dict`` and ``extra_dict`` are held weakly and must be ``OrderedDict`` (a plain dict has no weak
    references).  Pickled together with its dictionary, a handle stays linked to it.
    """

    __module__ = "retrograd.utils.hooks"

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref: Callable[[], Any] = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.extra_dict_ref: tuple[Callable[[], Any], ...] = ()
        if isinstance(extra_dict, dict):
            self.extra_dict_ref = (weakref.ref(extra_dict),)
        elif isinstance(extra_dict, list):
            self.extra_dict_ref = tuple(weakref.ref(d) for d in extra_dict)

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        if observe.observers:
            observe.notify("unhooked", self.id)
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks = OrderedDict() if state[0] is None else state[0]  # a dead dictionary makes a dead handle
        self.hooks_dict_ref = weakref.ref(hooks)
        self.id = state[1]
        extra = state[2] if len(state) > 2 and state[2] is not None else ()
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if d is None else d) for d in extra)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class _MultiHandle(RemovableHandle):
    """One handle for several."""

    handles: tuple[RemovableHandle, ...]

    def __init__(self, handles: Iterable[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[RemovableHandle, ...]:
        return self.handles

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.handles = state


def register(hooks: OrderedDict[int, Hook], hook: Hook) -> RemovableHandle:
    """Add a hook to a dictionary and return its handle."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if observe.observers:
        observe.notify("hooked", handle.id)
    return handle


def call_hook(handle: int, hook: Hook, *given: Any) -> Any:
    """Call a hook; observers are notified before and after, also of one that raises."""
    watched = bool(observe.observers)
    if watched:
        observe.notify("hook_began", handle, hook, given)
    result = None
    try:
        result = hook(*given)
    finally:
        if watched:
            observe.notify("hook_ended", handle, hook, given, result)
    return result


_TYPE_NAMES = {
    "float16": "HalfTensor", "bfloat16": "BFloat16Tensor", "float32": "FloatTensor", "float64": "DoubleTensor",
    "int8": "CharTensor", "int16": "ShortTensor", "int32": "IntTensor", "int64": "LongTensor", "uint8": "ByteTensor",
    "bool": "BoolTensor",
    "complex64": "ComplexFloatTensor", "complex128": "ComplexDoubleTensor",
    **{f"float8_{digits}": f"Float8_{digits}Tensor" for digits in EIGHT_BITS},
}  # fmt: skip


def tensor_type_name(sig: Sig) -> str:
    """The old type string of a tensor, as messages print it: ``torch.FloatTensor``."""
    return "torch." + _TYPE_NAMES.get(sig.dtype.name, sig.dtype.name)


def type_name(t: Any) -> str:
    """The same of a tensor whose layout counts, too: ``torch.sparse.FloatTensor``."""
    return tensor_type_name(t._sig).replace("torch.", "torch.sparse." if t.is_sparse else "torch.")


def hook_name(hook: Any) -> str:
    """The name of a hook in error messages."""
    return getattr(hook, "__name__", "<unknown>")


def check_replacement(hook: Any, old: TensorBase | None, new: Any) -> None:
    """A hook may replace a gradient by ``None`` or by a tensor of the same dtype and shape.

    Raises ``TypeError`` for a non-tensor, ``RuntimeError`` for another dtype or shape or for a tensor in place
    of an undefined gradient.
    """
    if new is None:
        return
    if not isinstance(new, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    was, now = old._sig, new._sig
    if now.numpy != was.numpy or new.layout is not old.layout or new.device != old.device:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value (was {type_name(old)} got {type_name(new)})"
        )
    if now.shape != was.shape:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the size of value (was {list(was.shape)} got {list(now.shape)})"
        )


def check_replacements(hook: Any, old: tuple[TensorBase | None, ...], new: Any) -> tuple[TensorBase | None, ...]:
    """Validate a node hook's replacement for a tuple of gradients."""
    if not isinstance(new, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(new).__name__}'")
    if len(new) != len(old):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values "
            f"(got {len(new)}, but expected {len(old)})"
        )
    for was, now in zip(old, new, strict=True):
        check_replacement(hook, was, now)
    return new


def run_tensor_hooks(hooks: OrderedDict[int, Hook], grad: TensorBase | None) -> TensorBase | None:
    """Run a tensor's hooks in order; each receives the result of the previous one."""
    for handle, hook in list(hooks.items()):
        result = call_hook(handle, hook, grad)
        if result is not None:
            check_replacement(hook, grad, result)
            grad = result
    return grad


def run_pre_hooks(hooks: OrderedDict[int, Hook], grads: tuple[TensorBase | None, ...]) -> tuple[TensorBase | None, ...]:
    """Run a node's pre hooks on its incoming gradients."""
    for handle, hook in list(hooks.items()):
        result = call_hook(handle, hook, grads)
        if result is not None:
            grads = check_replacements(hook, grads, result)
    return grads


def run_post_hooks(
    hooks: OrderedDict[int, Hook],
    grad_inputs: tuple[TensorBase | None, ...],
    grad_outputs: tuple[TensorBase | None, ...],
) -> tuple[TensorBase | None, ...]:
    """Run a node's post hooks on its results."""
    for handle, hook in list(hooks.items()):
        result = call_hook(handle, hook, grad_inputs, grad_outputs)
        if result is not None:
            grad_inputs = check_replacements(hook, grad_inputs, result)
    return grad_inputs


def unserializable_hook(f: Hook) -> Hook:
    """Decorator for hooks of tensors: that they are not pickled is known, so nothing warns of it."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of each hook of a tensor that will stay behind when it is pickled."""
    meta = tensor._meta
    for hook in () if meta is None or not meta.hooks else meta.hooks.values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning"
            )
