"""``torch.func`` along directions: ``jvp`` and the functions built on it.

A ``jvp`` that runs within no other is computed in forward mode: its arguments are dual tensors, and a custom Function
is asked for its ``jvp``.  Only one forward level can be open in all threads, so a ``jvp`` within one or beside one of
another thread, and those that use one recorded graph for many directions (``jacfwd``, ``linearize``), differentiate the
vector-Jacobian product once more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

from ..core.registry import F
from ..execution.backward import grad as gradients_of
from ..forward_mode.forward_ad import (
    NESTED,
    _set_fwd_grad_enabled,
    exit_dual_level,
    is_open_here,
    make_dual,
    open_level,
    unpack_dual,
)
from ..pytree.trees import tree_flatten, tree_map, tree_unflatten
from ..switches.modes import inference_mode
from ..switches.state import STATE, set_grad_enabled_here
from ..tensors.tensor import Tensor
from .captures import captures_refused
from .cuts import CutPoint
from .derivatives import ArgNums, chosen, jacrev, refuse_complex, replaced, tensors_only, with_aux
from .function_rules import transforming
from .level import Level, new_leaf, ordinary, recording_directions
from .vmap import check_randomness, drawing_refused

_JVP = "jvp(f, primals, tangents)"
Push = Callable[[Level, list[Any], list[Any]], list[Any]]
"""The tangents of a level's outputs for those of its inputs."""


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """``(output, tangent of the output)`` of ``func(*primals)`` for ``tangents`` of ``primals``, equally structured.

    With ``has_aux`` ``func`` returns ``(output, anything)``, and that is returned as third.  ``RuntimeError`` for
    directions that do not fit, within this thread's ``forward_ad.dual_level``, and under ``strict`` for an output that
    does not depend on ``primals``.
    """
    given = _checked_directions(primals, tangents)
    if is_open_here() and "jvp" not in STATE.transforms:
        raise RuntimeError(NESTED)
    with _forward_level() as is_opened:
        if is_opened:
            return _by_forward_mode(func, primals, given, strict, has_aux)
    return _by_transposing_twice(func, primals, given, has_aux)


@contextmanager
def _forward_level() -> Iterator[bool]:
    """A forward level of a transform's own: tangents are propagated, in the grad mode of the caller.

    Gives whether it was opened; while another level is open, in whichever thread, nothing is changed.
    """
    if not open_level():
        yield False
        return
    with ExitStack() as stack:
        stack.callback(exit_dual_level)
        grad_enabled = STATE.grad_enabled
        stack.enter_context(inference_mode(False))
        set_grad_enabled_here(grad_enabled)
        stack.enter_context(transforming("jvp"))
        stack.enter_context(_set_fwd_grad_enabled(True))
        yield True


def _by_forward_mode(func: Callable[..., Any], primals: Any, tangents: list[Any], strict: bool, has_aux: bool) -> Any:
    leaves, spec = tree_flatten(primals)
    cut = CutPoint(pushes_forward=True)
    duals = [make_dual(ordinary(p), ordinary(t)) for p, t in zip(leaves, tangents, strict=True)]
    with captures_refused(duals, (), cut):
        output, aux = with_aux(func(*tree_unflatten(duals, spec)), has_aux, _JVP)
    outputs, nesting = tensors_only(output, _JVP)
    found = [_unpacked(out, strict) for out in outputs]
    primal = tree_unflatten([entry for entry, _ in found], nesting)
    tangent = tree_unflatten([entry for _, entry in found], nesting)
    return (primal, tangent, tree_map(_primal_of, aux)) if has_aux else (primal, tangent)


def _unpacked(out: Any, strict: bool) -> tuple[Any, Any]:
    primal, tangent = unpack_dual(out)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        tangent = F.zeros_like(primal)
    return primal, tangent


def _primal_of(value: Any) -> Any:
    """An auxiliary result without its tangent; ``RuntimeError`` for one that is not a tensor."""
    if not isinstance(value, Tensor):
        raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
    return unpack_dual(value).primal


def _by_transposing_twice(func: Callable[..., Any], primals: Any, tangents: list[Any], has_aux: bool) -> Any:
    level = Level(primals, pushes=True)
    with recording_directions("jvp"):
        with level.guarded():
            output, aux = with_aux(func(*level.values()), has_aux, _JVP)
        leaves, spec = tensors_only(output, _JVP)
        pushed = tree_unflatten(_pushed(level, leaves, tangents), spec)
        results = (level.left_tree(output), pushed)
        return (*results, level.left_tree(aux)) if has_aux else results


def _checked_directions(primals: Any, tangents: Any) -> list[Any]:
    """The tangents in a row; ``RuntimeError`` unless both are tuples of tensors, with the same structure and shapes."""
    leaves, spec = _directions(primals, "primals")
    found, found_spec = _directions(tangents, "tangents")
    if spec != found_spec:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure "
            f"{found_spec}"
        )
    for primal, tangent in zip(leaves, found, strict=True):
        if primal.shape != tangent.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(primal.shape)} while the given forward gradient is of size "
                f"{list(tangent.shape)}."
            )
    return found


def _directions(values: Any, name: str) -> tuple[list[Any], Any]:
    if not isinstance(values, tuple):
        raise RuntimeError(f"{_JVP}: Expected {name} to be a tuple. E.g. it should be valid to call f(*primals).")
    leaves, spec = tree_flatten(values)
    if not leaves:
        raise RuntimeError(f"{_JVP}: Expected {name} to contain at least one Tensor.")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{_JVP}: Expected {name} to only contain Tensors, got {type(leaf)}")
    return leaves, spec


def _pushed(level: Level, outputs: list[Any], tangents: list[Any]) -> list[Any]:
    """The tangents of ``outputs`` for tangents of the level's inputs."""
    with STATE.through.directions():
        found, dummies = _along(level, outputs, tangents)
    return [level.left(found[id(o)], dummies) if id(o) in found else o.new_zeros(o.shape) for o in outputs]


def _along(level: Level, outputs: list[Any], tangents: list[Any]) -> tuple[dict[int, Any], list[Any]]:
    """The tangents that are not zero, by the ids of outputs, and the leaves that stood for cotangents."""
    reached = [(o, new_leaf(o.new_zeros(o.shape))) for o in outputs if o.requires_grad]
    dummies = [d for _, d in reached]
    found: dict[int, Any] = {}
    if reached:
        back = level.pulled([o for o, _ in reached], dummies)
        linear = [(g, t) for g, t in zip(back, tangents, strict=True) if g is not None and g.requires_grad]
        if linear:
            weights = [ordinary(t) for _, t in linear]
            made = gradients_of([g for g, _ in linear], dummies, weights, create_graph=True, allow_unused=True)
            found = {id(o): t for (o, _), t in zip(reached, made, strict=True) if t is not None}
    return found, dummies


def jacfwd(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that returns what that of ``jacrev`` returns, column by column: one direction per input number.

    ``RuntimeError`` where it draws random numbers, unless ``randomness`` is ``"different"`` or ``"same"``, and for
    complex numbers; ``ValueError`` for an argument of integers.
    """

    @functools.wraps(func)
    def derived(*args: Any) -> Any:
        refuse_complex("jacfwd", args, "input")
        points = chosen(args, argnums)
        _check_points(points)
        check_randomness(randomness)
        level = Level(points, pushes=True)
        with recording_directions("jacfwd"):
            drawing = drawing_refused() if randomness == "error" else nullcontext()
            with level.guarded(args) as others, transforming("vmap"), drawing:
                returned = func(*replaced(others, argnums, level.values()))
            output, aux = with_aux(returned, has_aux, _JVP)
            leaves, spec = tensors_only(output, _JVP)
            refuse_complex("jacfwd", output, "output")
            by_calling = STATE.through.has_functions and randomness == "error"
            push = _by_calling(func, others, argnums, has_aux) if by_calling else _pushed
            blocks = [_columns(push, level, leaves, place) for place in range(len(level.inputs))]
            nested = [tree_unflatten([block[i] for block in blocks], level.spec) for i in range(len(leaves))]
            found = tree_unflatten(nested, spec)
            return (found, level.left_tree(aux)) if has_aux else found

    return derived


def _check_points(points: Any) -> None:
    """``ValueError`` for a tensor of integers: it has no direction."""
    for point in tree_flatten(points)[0]:
        if isinstance(point, Tensor) and not (point.is_floating_point() or point.is_complex()):
            raise ValueError(f"Expected primal to be floating point or complex, but got: {point.dtype}")


def _by_calling(func: Callable[..., Any], args: tuple[Any, ...], argnums: ArgNums, has_aux: bool) -> Push:
    """Tangents of the outputs by forward mode, which calls the function for each direction."""

    def of_points(*points: Any) -> Any:
        given = points if isinstance(argnums, tuple) else points[0]
        return with_aux(func(*replaced(args, argnums, given)), has_aux, _JVP)[0]

    def push(level: Level, outputs: list[Any], tangents: list[Any]) -> list[Any]:
        points = tree_unflatten([F.clone(t) for t in level.inputs], level.spec)  # whatever is done to them
        directions = tree_unflatten(tangents, level.spec)
        if not isinstance(argnums, tuple):
            points, directions = (points,), (directions,)
        return [level.left(t) for t in tree_flatten(jvp(of_points, points, directions)[1])[0]]

    return push


def _columns(push: Push, level: Level, outputs: list[Any], place: int) -> list[Any]:
    """For each output its derivatives by the numbers of one input, those in the last dimensions."""
    source = level.inputs[place]
    pushed = []
    for i in range(source.numel()):
        tangents = [t.new_zeros(t.shape) for t in level.inputs]
        tangents[place].view(-1)[i] = 1
        pushed.append(push(level, outputs, tangents))
    if not pushed:
        return [o.new_zeros((*o.shape, *source.shape)) for o in outputs]
    columns = zip(*pushed, strict=True)
    return [F.reshape(F.stack(list(column), -1), (*column[0].shape, *source.shape)) for column in columns]


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """A function that returns the second derivatives of ``func``: shape of output, then twice that of the argument.

    >>> import retrograd as torch
    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``(output, jvp_fn)`` at ``primals``; ``jvp_fn(*tangents)`` uses the graph that was recorded once.

    ``jvp_fn`` raises ``RuntimeError`` for tangents unlike the primals in structure, shape or dtype.
    """
    level = Level(primals, pushes=True)
    with recording_directions("linearize"):
        with level.guarded():
            output = func(*level.values())
        leaves, spec = tree_flatten(output)
        result = level.left_tree(output)
        by_calling = STATE.through.has_functions
    points, structure = tree_flatten(primals)

    def jvp_fn(*tangents: Any) -> Any:
        given, given_structure = tree_flatten(tangents)
        if given_structure != structure:
            raise RuntimeError(
                f"Expected the tangents {given_structure} to have the same argspec as the primals {structure}"
            )
        _check_like(points, given)
        if by_calling:
            copies = tree_map(lambda p: p.clone() if isinstance(p, Tensor) else p, primals)
            return jvp(func, copies, tangents)[1]
        level.called()
        with recording_directions("linearize"):
            return tree_unflatten(_pushed(level, leaves, given), spec)

    return result, jvp_fn


def _check_like(primals: list[Any], tangents: list[Any]) -> None:
    """``RuntimeError`` unless each tangent has the shape and dtype of its primal."""
    for i, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
        for fact in ("shape", "dtype"):
            wanted, found = getattr(primal, fact), getattr(tangent, fact)
            if wanted != found:
                raise RuntimeError(
                    f"tangent:{i} with {fact} {found} in flattened pytree doesn't match the {fact} {wanted} of the "
                    "corresponding primal."
                )
