"""A module called with other parameters and buffers than its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...engine import observe
from ...engine.methods import FUNCTIONS
from ...engine.tensors.tensor import Tensor
from ..module import Module

Tensors = dict[str, Any]
Place = tuple[dict[str, Any], str]
"""A table of a module, and the name in it."""


def functional_call(
    module: Module, parameter_and_buffer_dicts: Tensors | Sequence[Tensors], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """``module(*args, **kwargs)`` with the tensors given by dotted name in place of its own, which stay as they are.

    With ``tie_weights`` a tensor that stands under several names is replaced under all of them.  Names that
    the module has not are passed over; with ``strict`` those and missing ones are a ``RuntimeError``.  ``ValueError``
    for a name given twice, or tied names given different tensors.
    """
    given = together(parameter_and_buffer_dicts)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    if observe.observers:
        observe.notify("functional_called", given)
    with replaced(module, given, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


def together(dicts: Any) -> Tensors:
    """The tensors of all dictionaries; ``ValueError`` for a name in two of them, ``TypeError`` for other values."""
    if not isinstance(dicts, (dict, list, tuple)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    given: Tensors = {}
    for names in [dicts] if isinstance(dicts, dict) else dicts:
        if not isinstance(names, dict):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        repeated = [name for name in names if name in given]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given |= names
    for value in given.values():
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    return given


@contextmanager
def replaced(module: Module, given: Tensors, tie_weights: bool, strict: bool) -> Iterator[None]:
    """Put the given tensors in the place of parameters and buffers until the block ends."""
    places = dict(_places(module))
    unknown = given.keys() - places.keys()
    given = _with_tied(given, places) if tie_weights else {n: v for n, v in given.items() if n in places}
    if strict:
        _refuse_keys(type(module).__name__, unknown, places.keys() - given.keys())
    before = [(*places[name], places[name][0][places[name][1]]) for name in given]
    try:
        for name, value in given.items():
            table, key = places[name]
            table[key] = value
        yield
    finally:
        for table, key, own in before:
            table[key] = own


def _with_tied(given: Tensors, places: dict[str, Place]) -> Tensors:
    """The given tensors, each under all names of the one it replaces; ``ValueError`` where those are given others."""
    names_of: dict[int, list[str]] = {}
    for name, (table, key) in places.items():
        names_of.setdefault(id(table[key]), []).append(name)
    complete: Tensors = {}
    for names in names_of.values():
        values = {id(given[n]): given[n] for n in names if n in given}
        if len(values) > 1:
            several = sorted(n for n in names if n in given)
            raise ValueError(
                f"functional_call got multiple values for keys {several}, which are tied. Consider using "
                "tie_weights=False"
            )
        for value in values.values():
            complete |= dict.fromkeys(names, value)
    return complete


def _refuse_keys(kind: str, unknown: Iterable[str], missing: Iterable[str]) -> None:
    """``RuntimeError`` that lists names that the module has not, and names that were not given."""
    lines = [
        f"\n\t{what} key(s): {', '.join(map(repr, sorted(names)))}."
        for what, names in (("Unexpected", unknown), ("Missing", missing))
        if names
    ]
    if lines:
        raise RuntimeError(f"Error(s) in reparametrizing for {kind}:{''.join(lines)}")


def _places(module: Module) -> Iterator[tuple[str, Place]]:
    """The tables of the module's tree in which parameters and buffers stand, by dotted name."""
    for path, inner in module.named_modules(remove_duplicate=False):
        for table in (inner._parameters, inner._buffers):
            for name, value in table.items():
                if value is not None:
                    yield (f"{path}.{name}" if path else name), (table, name)


def stack_module_state(models: Sequence[Module]) -> tuple[Tensors, Tensors]:
    """Parameters and buffers of modules of one kind, stacked by name, for ``vmap`` over them."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    columns = [[dict(m.named_parameters()) for m in models], [dict(m.named_buffers()) for m in models]]
    parameters, buffers = (
        {name: FUNCTIONS["stack"]([c[name] for c in column]).detach() for name in column[0]} for column in columns
    )
    for name, value in parameters.items():
        wanted = {column[name].requires_grad for column in columns[0]}
        if len(wanted) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        value.requires_grad_(wanted.pop())
    return parameters, buffers
