"""``OpDef``: one row of the operator table, and what is derived from it.

A row states the forward on arrays, one reverse rule per differentiable argument written in differentiable
operators (or one ``joint`` rule that returns the gradients of all arguments), and a few facts.  The argument names of
the rules determine what is saved: tensor arguments, parameters, ``result`` (the output, or all of them), the name of an
output, ``<arg>_sizes`` and ``<arg>_options``.  Rules run on bare arrays in an ordinary backward and on tensors when a
graph is created; they are written once.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...locks import once
from .. import late
from ..generated.row_node import make_node_class
from ..nodes.node import NODE_CLASSES
from ..nodes.opnode import OpNode
from ..nodes.saved_display import parts, show_saved_values
from .facts import RowError, RowFacts, Rule

_QUALIFIED = {
    "CopyBackwards": "torch::autograd::CopyBackwards", "Identity": "torch::autograd::Identity",
    "NotImplemented": "torch::autograd::NotImplemented",
}  # fmt: skip
"""Nodes whose ``name()`` differs from their class name."""


_FROZEN: dict[frozenset[Any], frozenset[Any]] = {}


def _frozen(items: Iterable[Any]) -> frozenset[Any]:
    """A set of what a row has; equal ones are one object: rows have 4,000 of them, and each takes the garbage
    collector's time."""
    made = frozenset(items)
    return _FROZEN.setdefault(made, made)


def camel_case(name: str) -> str:
    """``masked_fill`` -> ``MaskedFill``."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def parameters_of(function: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Parameter names and default values; read off the code object, which is much faster than ``inspect``."""
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        parameters = inspect.signature(function).parameters
        return tuple(parameters), tuple(p.default for p in parameters.values() if p.default is not p.empty)
    return code.co_varnames[: code.co_argcount], function.__defaults__ or ()


class OpDef(RowFacts):
    """One operator.

    ``kind`` says how forward mode follows from the rules: ``"elementwise"`` (the reverse rule applied to the
    tangent), ``"linear"`` (the operator itself), ``"multilinear"`` (the operator in each argument), or
    ``"function"`` (the transpose of the reverse rule, or ``jvp``).
    """

    def __init__(
        self,
        name: str,
        forward: Callable[..., Any],
        rules_and_facts: dict[str, Any],
        *,
        kind: str = "function",
        node: str | None = None,
        tensors: str | None = None,
    ) -> None:
        self.name = name
        self.forward = forward
        self.kind = kind
        self._read_parameters()
        self.rules: dict[str, Rule] = {k: v for k, v in rules_and_facts.items() if k in self.params}
        """The reverse rule of each differentiable argument."""
        self._read_facts({k: v for k, v in rules_and_facts.items() if k not in self.params})
        self._read_tensors(tensors)
        self._read_rules()
        self.node_name = node or camel_case(name) + "Backward0"

    @property
    def qualified_name(self) -> str:
        """The ``name()`` of its nodes."""
        return _QUALIFIED.get(self.node_name, self.node_name)

    @property
    def only_for_hooks(self) -> set[str]:
        """What nodes save only for hooks on saved tensors."""
        return {*self.for_hooks} - {*self.params, *self.aux, *self.results}

    # -- derived from the row
    def _read_parameters(self) -> None:
        if isinstance(self.forward, np.ufunc):
            self.params: tuple[str, ...] = ("self", "other")[: self.forward.nin]
            self.defaults: tuple[Any, ...] = ()
        else:
            self.params, self.defaults = parameters_of(self.forward)
        self.required = len(self.params) - len(self.defaults)

    def _read_facts(self, facts: dict[str, Any]) -> None:
        """Set the row's facts; some defaults depend on its kind, its name or another fact."""
        facts.setdefault("promote", "common" if self.kind in ("elementwise", "multilinear") else "")
        facts.setdefault("outputs", len(facts.get("results", "").split()) or 1)
        facts.setdefault("public", not self.name.startswith("_"))
        by_element = self.kind == "elementwise" or (self.kind == "nondifferentiable" and bool(facts["promote"]))
        facts.setdefault("layout", "operands" if by_element else "")
        try:
            self._take_facts(facts)
        except RowError as error:
            raise RowError(f"row {self.name!r}: {error}") from None
        self.array_names = _frozen(name.rstrip("*") for name in self.arrays)
        self.array_lists = _frozen(name.rstrip("*") for name in self.arrays if name.endswith("*"))

    def _read_tensors(self, tensors: str | None) -> None:
        """Determine which arguments are tensors: those in ``tensors`` (``name*``: a list), or those with a rule."""
        if tensors is not None:
            named = tensors.split()
        elif self.joint is not None or not self.rules:
            named = list(self.params[:1])
        else:
            named = list(self.rules)
        self.lists = _frozen(n.rstrip("*") for n in named if n.endswith("*"))
        names = [n.rstrip("*") for n in named]
        unknown = [n for n in names if n not in self.params]
        if unknown:
            raise RowError(f"row {self.name!r}: no such argument: {', '.join(unknown)}")
        self.tensor_names = tuple(n for n in self.params if n in names or n in self.rules)
        self.tensor_positions = tuple(self.params.index(n) for n in self.tensor_names)
        self.list_positions = _frozen(self.params.index(n) for n in self.lists)
        if self.joint is not None:
            self.diff_names = tuple(n for n in self.tensor_names if n not in self.constant)
        else:
            self.diff_names = tuple(n for n in self.tensor_names if n in self.rules)
        self.diff_positions = tuple(self.params.index(n) for n in self.diff_names)

    def _read_rules(self) -> None:
        """Determine which values each rule uses; a node saves operands by their names, then results, as in PyTorch."""
        everything = dict(self.rules) if self.joint is None else {"*": self.joint}
        asked = {arg: parameters_of(rule)[0][1 if self.joint is None else 2 :] for arg, rule in everything.items()}
        made = {name: parameters_of(rule)[0] for name, rule in self.for_hooks.items()}
        for arg, names in (*asked.items(), *made.items(), ("keeps", self.keeps)):
            for name in names:
                self._check_asked(arg, name)
        own = {"result", *self.results, *self.aux, *(name for name in made if name not in self.params)}
        saved = sorted({*self.keeps, *made}.union(*asked.values()), key=lambda name: (name in own, name))
        self.rule_args = {arg: tuple(saved.index(n) for n in names) for arg, names in asked.items()}
        self.saved_names = tuple(saved)
        asked_by = [name for names in asked.values() for name in names]
        self.unconditional = _frozen(n for n in saved if n in own or (asked_by.count(n) > 1 and not self.apart))
        """What PyTorch's nodes keep whichever operands want gradients: results, and what several rules ask for."""
        self.saved_places = tuple(k for k, name in enumerate(self.saved_names) if name in own)
        """Which of the saved values are neither operands nor parameters."""
        self.saves_result = not {"result", *self.results}.isdisjoint(self.saved_names)
        whole = {*self.tensor_names, *own, *self.array_names} - {*self.scalars}
        self.tensor_saved = _frozen(n for n in self.saved_names if n in whole)
        self._read_slots()

    def _read_slots(self) -> None:
        """Determine which slots of a node are always filled, and which of them backward frees."""
        others = [n for n in self.saved_names if n not in self.tensor_saved and parts(n)[1] != "_by_columns"]
        self.always_saved = _frozen([*others, *self.keeps, *self.unconditional])
        freed = [n for n in self.saved_names if n in self.tensor_saved]
        optional = self._may_be_none(freed)
        freed.sort(key=optional.__contains__)
        self.freed_slots = tuple([f"kept_{n}" for n in freed])
        """Slots that backward frees, the first one for certain; numbers, sizes and tensors that are ``None`` stay."""
        self.optional_slots = _frozen(f"kept_{n}" for n in optional)

    def _may_be_none(self, names: list[str]) -> list[str]:
        """The tensors that a caller can omit: in rows with one formula only those that are ``None`` by default."""
        own = {*self.tensor_names[:1], "result", *self.results, *self.aux}
        if self.kind == "function" or self.joint is not None:
            return [n for n in names if n not in own]
        none = [n for n, v in zip(self.params[self.required :], self.defaults, strict=True) if v is None]
        return [n for n in names if n in none or n in self.only_for_hooks]

    def _check_asked(self, arg: str, name: str) -> None:
        known = {*self.params, *self.aux, *self.results, "result"}
        if name not in known and parts(name)[0] not in self.tensor_names:
            raise RowError(f"row {self.name!r}: the rule for {arg!r} asks for {name!r}, which the operator has not")

    def saved_for(self, edges: Sequence[Any]) -> set[str]:
        """Names of what a node with these edges saves: rules of operands without an edge never run."""
        if self.joint is not None or self.lists or len(self.diff_names) == 1:
            return set(self.saved_names)
        wanted = set(self.always_saved)
        for name, edge in zip(self.diff_names, edges, strict=True):
            if edge is not None:
                wanted.update([self.saved_names[i] for i in self.rule_args[name]])
        return wanted

    def seen_by_hooks(self, name: str, value_at: Callable[[int], Any]) -> Any:
        """An array: what hooks on saved tensors see under a name, of what a node keeps at each place."""
        rule = self.for_hooks[name]
        values = [value_at(self.saved_names.index(asked)) for asked in parameters_of(rule)[0]]
        return rule(*[getattr(value, "_array", value) for value in values])

    @once
    def node_class(self) -> type[OpNode]:
        """The class of this row's nodes; made on first use, since a program uses few of the rows."""
        cls = make_node_class(self)
        show_saved_values(cls)
        cls.qualified_name = self.qualified_name
        NODE_CLASSES.setdefault(self.node_name, cls)  # several rows may show the same node, as torch's overloads do
        return cls

    @once
    def general_node_class(self) -> type[OpNode]:
        """The same for complex values and halves: without the formulas, which do not hold for them."""
        general = {"_sweep": OpNode._sweep, "_sweep_observed": OpNode._sweep_observed}
        return type(self.node_name, (self.node_class,), {"__slots__": (), **general})

    @once
    def in_place(self) -> OpDef:
        """The row with the node name of its in-place form, which PyTorch does not refuse complex results."""
        if self.in_place_node is None and not self.real_only:
            return self
        twin = self.with_node(self.in_place_node or self.node_name)
        twin.real_only = ""
        if self.in_place_rules:
            twin.rules = self.in_place_rules
            twin._read_rules()
        return twin

    def with_node(self, node_name: str) -> OpDef:
        """The same operator under another node name (torch's in-place changes of shape have their own)."""
        twin = copy.copy(self)
        for made in ("call", "node_class", "general_node_class", "in_place"):
            twin.__dict__.pop(made, None)
        twin.node_name, twin.in_place_node = node_name, None
        return twin

    # -- calling
    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Positional arguments in the row's order with defaults filled in; ``TypeError`` as Python would."""
        if len(args) > len(self.params):
            raise TypeError(f"{self.name}() takes {len(self.params)} arguments but {len(args)} were given")
        bound = list(args)
        for i in range(len(args), len(self.params)):
            name = self.params[i]
            if name in kwargs:
                bound.append(kwargs.pop(name))
            elif i >= self.required:
                bound.append(self.defaults[i - self.required])
            else:
                raise TypeError(f"{self.name}() missing required argument: '{name}'")
        if kwargs:
            name = next(iter(kwargs))
            if name in self.params:
                raise TypeError(f"{self.name}() got multiple values for argument '{name}'")
            raise TypeError(f"{self.name}() got an unexpected keyword argument '{name}'")
        return tuple(bound)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run on tensors (recording) or, where no argument is a tensor, on bare arrays."""
        return self.call(*args, **kwargs)

    @once
    def call(self) -> Callable[..., Any]:
        """The function that calling the row calls."""
        caller: Callable[..., Any] = late.caller_of(self)
        return caller

    def __repr__(self) -> str:
        return f"<operator {self.name}>"
