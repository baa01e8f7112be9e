"""``backward`` and ``grad``: check the arguments, then start one backward pass."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from sys import modules
from typing import Any

import numpy as np

from .. import observe
from ..aliasing.views import gradient_edge, requires_grad
from ..core.base import LAZY, TensorBase, wrap
from ..core.batches import spread
from ..nodes.edges import GradientEdge, edge_of
from ..nodes.node import GraphNode
from ..switches import watchers
from ..switches.state import STATE
from ..switches.transforming import refuse_backward_in_transform
from ..warning import warn, warn_once
from .batched import batched_grad
from .execute import run_backward
from .logging_ import attach_if_wanted, is_wanted
from .root_gradients import make_grads, root_edges
from .sweep import sweep_loss


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of ``tensors`` to ``.grad`` of the leaves (only of ``inputs`` when given).

    ``retain_graph`` defaults to ``create_graph``.  Raises ``RuntimeError`` for roots without a graph, for an
    implicit gradient of a root that is not a real scalar, and for empty ``inputs``.
    """
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if create_graph is not False or retain_graph is not None:
        create_graph, retain_graph = _flags(create_graph, retain_graph)
    keep = bool(retain_graph)
    watched = bool(observe.observers)  # one line runs it in both cases: a watched program fails with equal tracebacks
    if watched:
        observe.notify("backward_called", "backward", tensors, grad_tensors, inputs, keep, create_graph)
    try:
        # the shortest way, for one plain scalar (after large arrays a call takes 0.5 µs and more)
        plain = grad_tensors is None and inputs is None and not create_graph and isinstance(tensors, TensorBase)
        plain = plain and not STATE.transforms and ("logging" not in modules or not is_wanted())
        if not (plain and sweep_loss(tensors, keep)):
            _backward(tensors, grad_tensors, keep, create_graph, inputs)
    except BaseException as error:
        if watched:
            observe.notify("backward_left", None, error)
        raise
    if watched:
        observe.notify("backward_left", None, None)


def _backward(tensors: Any, grad_tensors: Any, keep: bool, create_graph: bool, inputs: Any) -> None:
    """The run of ``backward`` with all arguments checked."""
    refuse_backward_in_transform()
    wanted = None if inputs is None else _inputs_of_backward(inputs)
    outputs = [tensors] if isinstance(tensors, TensorBase) else _as_outputs(tensors)
    given = [None] * len(outputs) if grad_tensors is None else _as_grads(grad_tensors, len(outputs))
    grads = make_grads(outputs, given, batched=False)
    if create_graph:
        _warn_create_graph()
    _engine_run_backward(
        outputs, grads, keep_graph=keep, create_graph=create_graph, inputs=wanted, accumulate_grad=True
    )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Gradients of ``outputs`` with respect to ``inputs``; ``.grad`` is left alone.

    Returns a tuple in the order of ``inputs`` (a dict for a dict).  Raises ``RuntimeError`` for inputs that do not
    require grad or were not used (unless ``allow_unused``), ``ValueError`` for contradictory options.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    create_graph, keep = _flags(create_graph, retain_graph)
    keep = keep or STATE.repeating
    with observe.backward_call("grad", outputs, grad_outputs, inputs, keep, create_graph) as call:
        plain = None if is_grads_batched or grad_outputs is not None else _plain_run(outputs, inputs)
        if plain is not None:
            keys, wanted = None, inputs
            results = run_backward(*plain, keep_graph=keep, create_graph=create_graph, capture=True)
            _check_used(results, allow_unused)
        else:
            keys, wanted = _inputs_of_grad(inputs)
            outs = _as_outputs(outputs)
            given = _as_grads(grad_outputs, len(outs))
            if is_grads_batched:
                results = _batched(outs, wanted, given, keep, create_graph, allow_unused)
            else:
                grads = make_grads(outs, given, batched=False)
                results = grad_once(outs, wanted, grads, keep, create_graph, allow_unused)
        if materialize_grads:
            results = _materialized(results, wanted, create_graph)
        if STATE.batches:
            given = [t for t in (*_as_outputs(outputs), *wanted) if isinstance(t, TensorBase)]
            spread(given, [g for g in results if g is not None])
        call.gives(results)
    return tuple(results) if keys is None else dict(zip(keys, results, strict=True))


def _plain_run(t: Any, inputs: Any) -> tuple[list[Any], list[Any], list[Any]] | None:
    """Where ``grad(loss, leaves)`` begins, its gradient, and the edges of the leaves; ``None`` for other arguments.

    For a real scalar that a node computed and leaves that were used it finds what the general way does in 20 calls.
    """
    if not isinstance(t, TensorBase) or (inputs.__class__ is not list and inputs.__class__ is not tuple):
        return None
    fn, sig = t._fn, t._sig
    number = fn is not None and fn is not LAZY and not sig.shape and sig.floats is not None
    if not number or not inputs or watchers.DISPATCHING or ("logging" in modules and is_wanted()):
        return None
    edges = []
    for x in inputs:
        meta = x._meta if isinstance(x, TensorBase) and x._fn is LAZY else None
        if meta is None or meta.view is not None or not meta.requires_grad or meta.accumulator is None:
            return None
        edges.append(meta.accumulator())
    return None if None in edges else ([fn], [wrap(np.array(1, sig.numpy))], edges)


def _check_used(captured: list[Any], allow_unused: bool | None) -> None:
    """``RuntimeError`` for an input that no root leads to, unless that is allowed."""
    if allow_unused:
        return
    for i, g in enumerate(captured):
        if g is None:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )


def grad_once(
    outputs: list[Any], inputs: list[Any], grads: list[Any], keep: bool, create_graph: bool, allow_unused: bool
) -> list[Any]:
    """One run that captures the gradients of ``inputs``."""
    captured = _engine_run_backward(outputs, grads, keep_graph=keep, create_graph=create_graph, inputs=inputs)
    _check_used(captured, allow_unused)
    return captured


def _engine_run_backward(
    t_outputs: list[Any],
    grads: list[Any],
    *,
    keep_graph: bool,
    create_graph: bool,
    inputs: list[Any] | None = None,
    accumulate_grad: bool = False,
) -> list[Any]:
    """The single gateway to the engine; where the logger asks for it, each node that executes is logged.

    Gradients of ``inputs`` are returned, or with ``accumulate_grad`` added to their ``.grad``.
    """
    unregister_hooks = attach_if_wanted(t_outputs)
    try:
        roots = root_edges(t_outputs)
        edges = None
        if inputs is not None:
            edges = _accumulating_edges(inputs) if accumulate_grad else _capturing_edges(inputs)
        if not roots:
            return [None] * len(edges or ())
        options = {"keep_graph": keep_graph, "create_graph": create_graph}
        return run_backward(roots, grads, inputs=edges, capture=not accumulate_grad, **options)
    finally:
        if unregister_hooks is not None:
            unregister_hooks()


# -- arguments


def _flags(create_graph: Any, retain_graph: Any) -> tuple[bool, bool]:
    """``create_graph`` and whether to keep the graph, as booleans; ``TypeError`` for other types than numbers."""
    create = bool(operator.index(create_graph))
    return create, create if retain_graph is None else bool(operator.index(retain_graph))


def _as_outputs(tensors: Any) -> list[Any]:
    if isinstance(tensors, (TensorBase, GradientEdge)):
        return [tensors]
    return list(tensors)


def _as_grads(given: Any, count: int) -> list[Any]:
    if given is None:
        return [None] * count
    if isinstance(given, TensorBase):
        return [given]
    return list(given)


def _inputs_of_backward(inputs: Any) -> list[Any]:
    _, wanted = _split_inputs(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    return wanted


def _inputs_of_grad(inputs: Any) -> tuple[list[Any] | None, list[Any]]:
    keys, wanted = _split_inputs(inputs)
    if not wanted:
        raise RuntimeError("grad requires non-empty inputs: `inputs` argument to `grad()` cannot be empty.")
    return keys, wanted


def _split_inputs(inputs: Any) -> tuple[list[Any] | None, list[Any]]:
    """The keys (of a dict) and a list of the tensors and edges that ``inputs=`` names; raises for anything else."""
    keys = None
    if inputs.__class__ is list or inputs.__class__ is tuple:  # what nearly all programs give
        pass
    elif isinstance(inputs, (TensorBase, GradientEdge)):
        inputs = [inputs]
    elif type(inputs) is dict:
        keys, inputs = list(inputs), list(inputs.values())
    elif hasattr(inputs, "keys") and hasattr(inputs, "__getitem__"):
        raise TypeError(f"inputs: a mapping must be a dict, got {type(inputs).__name__}")
    elif not isinstance(inputs, Iterable):
        raise TypeError(f"'{type(inputs).__name__}' object is not iterable")
    wanted = list(inputs)
    for x in wanted:
        if not isinstance(x, (TensorBase, GradientEdge)):
            raise RuntimeError("all inputs have to be Tensors or GradientEdges, but got " + type(x).__name__)
    return keys, wanted


def _capturing_edges(wanted: list[Any]) -> list[Any]:
    edges = []
    for x in wanted:
        edge = edge_of(x) if isinstance(x, GradientEdge) else gradient_edge(x)
        if edge is None:
            if not (isinstance(x, TensorBase) and requires_grad(x)):
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            edge = _Unreachable((), x._sig.alone)  # requires grad through its base only: unreachable from any root
        edges.append(edge)
    return edges


class _Unreachable(GraphNode):
    """A node that no root leads to."""

    __slots__ = ("_edges",)


def _accumulating_edges(wanted: list[Any]) -> list[Any]:
    edges = []
    for x in wanted:
        if isinstance(x, GradientEdge):
            edges.append(edge_of(x))
        else:
            x.retain_grad()
            edges.append(gradient_edge(x))
    return edges


def _batched(
    outputs: list[Any], inputs: list[Any], given: list[Any], keep: bool, create_graph: bool, allow_unused: bool
) -> list[Any]:
    """Run once per entry of the first dimension of the gradients and stack the results."""
    make_grads(outputs, given, batched=True)

    def one(slices: Any, keep_graph: bool = True) -> Any:
        grads = make_grads(outputs, list(slices), batched=False)
        return grad_once(outputs, inputs, grads, keep_graph, create_graph, allow_unused)

    return list(batched_grad(one, given, run_last=lambda slices: one(slices, keep)))


def _materialized(results: list[Any], wanted: list[Any], create_graph: bool) -> list[Any]:
    filled = []
    for g, x in zip(results, wanted, strict=True):
        if g is None:
            if isinstance(x, GradientEdge):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            g = wrap(np.zeros(x._sig.shape, x._sig.numpy))
            if create_graph:
                g._requiring_grad()
        filled.append(g)
    return filled


def _warn_create_graph() -> None:
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
        "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
        "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
        "after use to break the cycle and avoid the leak."
    )
