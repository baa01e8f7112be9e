"""``library.opcheck``: tests whether a custom operator keeps what its schema, fake kernel and gradient promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..core.narrow import kind_of
from ..execution.backward import backward
from ..pytree import trees
from ..switches.modes import no_grad
from ..tensors.tensor import Tensor
from .definition import CustomOpDef
from .fake_mode import fake_like, fake_mode
from .memory import memory_block
from .registry import OpOverload, OpOverloadPacket, tensors_in
from .schema_binding import bind

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class OpCheckError(Exception):
    """An operator failed one of ``opcheck``'s tests."""


def _copy(tensor: Tensor) -> Tensor:
    """A separate leaf with the same value, so that no test changes the user's arguments."""
    with no_grad():
        fresh: Tensor = tensor.detach().clone()
    fresh.requires_grad_(tensor.requires_grad)
    return fresh


def _copies(args: tuple[Any, ...], kwargs: dict[str, Any], copy: Callable[[Any], Any] = _copy) -> Arguments:
    """The arguments with every tensor replaced, one tensor used twice staying one tensor."""
    made: dict[int, Any] = {}

    def replaced(tensor: Any) -> Any:
        if id(tensor) not in made:
            made[id(tensor)] = copy(tensor)
        return made[id(tensor)]

    new_args, new_kwargs = trees.tree_map_only(Tensor, replaced, (args, kwargs))
    return new_args, new_kwargs


def _tensors(tree: Any) -> list[Any]:
    return [leaf for leaf in trees.tree_leaves(tree) if isinstance(leaf, Tensor)]


def _values(tensors: list[Any]) -> list[Any]:
    return [t._array.copy() for t in tensors]


def _is_same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=kind_of(a.dtype) in "fc")


class _Case:
    """One operator with the arguments it is tested on."""

    def __init__(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.op = op
        self.args = args
        self.kwargs = kwargs
        self.tolerance: tuple[float, float] | None = None

    def copies(self) -> Arguments:
        return _copies(self.args, self.kwargs)

    @property
    def requires_grad(self) -> bool:
        return any(t.requires_grad for t in tensors_in((*self.args, *self.kwargs.values())))


def schema_test(case: _Case) -> None:
    """Only arguments that the schema calls mutable are written, and no result shares memory undeclared."""
    args, kwargs = case.copies()
    bound, keywords = bind(case.op._schema, args, kwargs)
    named = dict(zip([a.name for a in case.op._schema.positional], bound, strict=True)) | keywords
    before = {name: _values(_tensors(value)) for name, value in named.items()}
    result = case.op(*args, **kwargs)
    blocks = {memory_block(t) for t in _tensors(result)}
    for argument in case.op._schema.arguments:
        tensors = _tensors(named[argument.name])
        changed = not all(map(_is_same, before[argument.name], _values(tensors)))
        if changed and not argument.is_write:
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
        if argument.alias_info is None and any(memory_block(t) in blocks for t in tensors):
            raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")


def autograd_registration_test(case: _Case) -> None:
    """Results only require grad if the operator has an autograd kernel of its own."""
    if not case.requires_grad or case.op.autograd_kernel is not None or "implicit" in case.op.kernels:
        return
    args, kwargs = case.copies()
    inputs = {id(t) for t in _tensors((args, kwargs))}
    if any(t.requires_grad for t in _tensors(case.op(*args, **kwargs)) if id(t) not in inputs):
        raise AssertionError(
            f"{case.op.name()}: at least one output of this operator has requires_grad=True but the operator does not "
            "have an autograd kernel defined at an autograd key. This could mean that you have incorrectly registered "
            "an autograd kernel for a device, which may lead to silently incorrect results; use register_autograd, or "
            "register an operator made of ordinary operators as CompositeImplicitAutograd."
        )


def _run_fake(case: _Case, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Arguments]:
    fakes = _copies(args, kwargs, fake_like)
    with fake_mode():
        return case.op(*fakes[0], **fakes[1]), fakes


def fake_tensor_test(case: _Case) -> None:
    """The fake kernel returns the metadata of the real one."""
    args, kwargs = case.copies()
    with no_grad():
        fake, fakes = _run_fake(case, args, kwargs)
        real = case.op(*args, **kwargs)
    _compare_metadata(case.op, fake, real)
    fake_aliases, real_aliases = _aliases(fake, fakes), _aliases(real, (args, kwargs))
    if fake_aliases != real_aliases:
        raise RuntimeError(
            f"When comparing the output of {case.op} on FakeTensor and concrete Tensors, found mismatch in "
            f"outputs_alias_inputs check {fake_aliases} != {real_aliases}"
        )


def _aliases(result: Any, arguments: Any) -> bool:
    blocks = {memory_block(t) for t in _tensors(arguments)}
    return any(memory_block(t) in blocks for t in _tensors(result))


def _compare_metadata(op: OpOverload, fake: Any, real: Any) -> None:
    """``RuntimeError`` where a fake kernel's results differ in number, kind, shape or dtype from the real ones."""
    prefix = f"When comparing the output of {op} on FakeTensor and concrete Tensors, found mismatched"
    fake_leaves, real_leaves = trees.tree_leaves(fake), trees.tree_leaves(real)
    if len(fake_leaves) != len(real_leaves):
        raise RuntimeError(f"{prefix} number of results: {len(real_leaves)} and {len(fake_leaves)}")
    for a, b in zip(real_leaves, fake_leaves, strict=True):
        if isinstance(a, Tensor) != isinstance(b, Tensor):
            raise RuntimeError(f"{prefix} kinds of results: {type(a).__name__} and {type(b).__name__}")
        if not isinstance(a, Tensor):
            continue
        if tuple(a.shape) != tuple(b.shape):
            raise RuntimeError(f"{prefix} tensor metadata: Shapes {a.shape} and {b.shape} are not equal!")
        if a.dtype != b.dtype:
            raise RuntimeError(f"{prefix} tensor metadata: Dtypes {a.dtype} and {b.dtype} are not equal!")


def _gradients(case: _Case, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Results of a run and the gradients of its tensor arguments, from gradients of one."""
    inputs = _tensors((args, kwargs))
    result = case.op(*args, **kwargs)
    roots = [t for t in _tensors(result) if t.requires_grad]
    if roots:
        with no_grad():
            ones = [t.detach().clone().fill_(1) for t in roots]
        backward(roots, ones)
    return _tensors(result), [t.grad for t in inputs]


def trace_test(case: _Case) -> None:
    """Results and gradients can be had without data in the right shapes, and a second run gives the same ones."""
    fakes = _copies(*case.copies(), fake_like)
    with fake_mode():
        planned, planned_grads = _gradients(case, *fakes)
    first, grads = _gradients(case, *case.copies())
    _compare_metadata(case.op, [*planned, *planned_grads], [*first, *grads])
    again, grads_again = _gradients(case, *case.copies())
    for one, other in zip([*first, *grads], [*again, *grads_again], strict=True):
        if (one is None) != (other is None):
            raise AssertionError(f"{case.op}: an argument has a gradient in one run and none in the next")
        if one is not None and not _is_close(one._array, other._array, case.tolerance):
            raise AssertionError(f"{case.op}: results or gradients differ between two runs on the same arguments")
    for argument, grad in zip(_tensors((case.args, case.kwargs)), grads, strict=True):
        if grad is not None and tuple(grad.shape) != tuple(argument.shape):
            raise AssertionError(f"{case.op}: a gradient has shape {grad.shape}, its argument {argument.shape}")


def _is_close(a: Any, b: Any, tolerance: tuple[float, float] | None) -> bool:
    rtol, atol = tolerance or ((1e-5, 1e-8) if kind_of(a.dtype) in "fc" else (0.0, 0.0))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=kind_of(a.dtype) in "fc"))


TESTS: Final[dict[str, Callable[[_Case], None]]] = {
    "test_schema": schema_test,
    "test_autograd_registration": autograd_registration_test,
    "test_faketensor": fake_tensor_test,
    "test_aot_dispatch_static": trace_test,
    "test_aot_dispatch_dynamic": trace_test,
}
DEFAULT_TESTS: Final = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def _operator(op: Any) -> OpOverload:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        first: OpOverload = getattr(op, op.overloads()[0])
        return first
    if not isinstance(op, OpOverload):
        raise ValueError(
            "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.mylib.sin.default, "
            f"got {type(op)}"
        )
    return op


def opcheck(
    op: OpOverload | OpOverloadPacket | CustomOpDef,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = DEFAULT_TESTS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Test an operator on copies of ``args`` and return test name → ``"SUCCESS"`` or the exception.

    With ``raise_exception`` the first failure raises ``OpCheckError``.  ``ValueError`` for an unknown test, for
    something that is not an operator, and if only one of ``atol`` and ``rtol`` is given.
    """
    if (atol is None) != (rtol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    operator = _operator(op)
    if not set(names) <= set(TESTS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {tuple(TESTS)} but it was not"
        )
    case = _Case(operator, tuple(args), dict(kwargs or {}))
    if atol is not None and rtol is not None:
        case.tolerance = (rtol, atol)
    return {name: _run_test(name, case, raise_exception) for name in names}


def _run_test(name: str, case: _Case, raise_exception: bool) -> Any:
    try:
        TESTS[name](case)
    except Exception as error:
        if raise_exception:
            raise OpCheckError(f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)") from error
        return error
    return "SUCCESS"
