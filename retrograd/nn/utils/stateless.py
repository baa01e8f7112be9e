"""A module called with other parameters and buffers than its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...engine.table.methods import FUNCTIONS
from ..module import Module

Tensors = dict[str, Any]


def functional_call(
    module: Module, parameter_and_buffer_dicts: Tensors | Sequence[Tensors], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """``module(*args, **kwargs)`` with the tensors given by dotted name in place of its own, which stay as they are.

    With ``tie_weights`` a tensor that stands under several names is replaced under all of them.  Names that
    the module has not are passed over; with ``strict`` those and missing ones are a ``RuntimeError``.
    """
    given: Tensors = {}
    dicts = [parameter_and_buffer_dicts] if isinstance(parameter_and_buffer_dicts, dict) else parameter_and_buffer_dicts
    for names in dicts:
        repeated = given.keys() & names.keys()
        if repeated:
            raise ValueError(
                f"{sorted(repeated)[0]} appears in multiple dictionaries; behavior of functional call is ambiguous"
            )
        given |= names
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@contextmanager
def _replaced(module: Module, given: Tensors, tie_weights: bool, strict: bool) -> Iterator[None]:
    """Put the given tensors in the place of parameters and buffers until the block ends."""
    places = dict(_places(module))
    unknown, missing = sorted(given.keys() - places.keys()), sorted(places.keys() - given.keys())
    if strict and (unknown or missing):
        raise RuntimeError(f"Unexpected key(s): {', '.join(unknown)}. Missing key(s): {', '.join(missing)}.")
    given = {name: value for name, value in given.items() if name in places}
    wanted = {id(places[name][0][places[name][1]]): value for name, value in given.items()} if tie_weights else {}
    before = []
    for name, (table, key) in places.items():
        if name in given or id(table[key]) in wanted:
            before.append((table, key, table[key]))
    try:
        for table, key, own in before:
            table[key] = wanted[id(own)] if tie_weights else table[key]
        for name, value in given.items():
            table, key = places[name]
            table[key] = value
        yield
    finally:
        for table, key, own in before:
            table[key] = own


def _places(module: Module) -> Iterator[tuple[str, tuple[dict[str, Any], str]]]:
    """The tables of the module's tree in which parameters and buffers stand, by dotted name."""
    for path, inner in module.named_modules():
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
    columns = [[dict(m.named_parameters()) for m in models], [dict(m.named_buffers()) for m in models]]
    parameters, buffers = (
        {name: FUNCTIONS["stack"]([c[name] for c in column]).detach() for name in column[0]} for column in columns
    )
    for name, value in parameters.items():
        value.requires_grad_(columns[0][0][name].requires_grad)
    return parameters, buffers
