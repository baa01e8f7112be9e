"""Facts that a row may state besides its rules: each is a keyword of the row.

Facts that name several things take them as words in one string: ``results="values indices"``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]


class RowError(Exception):
    """A mistake in the operator table, found when it is imported."""


class RowFacts:
    """The facts of one row, with defaults."""

    joint: Rule | None = None
    """One rule that returns the gradients of all arguments."""
    jvp: Rule | None = None
    """The forward-mode rule ``jvp(primals, tangents, results)``, where it does not follow from ``kind``."""
    public: bool = True
    """The row itself is a public function; otherwise a function in ``overloads`` calls it."""

    # -- operands
    promote: str = ""
    """``"common"``: operands are cast to their common dtype; ``"float"``: to a floating one; empty: not at all."""
    numbers: bool = True
    """Python numbers may be among the operands."""
    truth: bool = True
    """Booleans may be among the operands."""
    ndim: int | None = None
    """How many dimensions the result and all operands that the rules read have: 2 for products of matrices."""
    kinds: str = ""
    """NumPy's letters for the kinds of dtype that torch's kernel takes, of ``fciub``; ``w`` for floats but half;
    empty: all of them."""
    scalars: tuple[str, ...] = ()
    """Operands that are always numbers, which PyTorch does not turn into tensors."""
    constant: tuple[str, ...] = ()
    """Tensor arguments of a joint rule that take no gradient."""

    # -- results
    results: tuple[str, ...] = ()
    """Names of the outputs, for rules that ask for one of several."""
    outputs: int | str = 1
    """How many tensors the operator returns; ``"many"`` if that depends on the arguments."""
    undefined: bool = False
    """With several outputs: rules get ``None`` for a missing gradient instead of zeros, as PyTorch's
    formulas expect."""
    nondiff: tuple[int, ...] = ()
    """Numbers of the outputs without gradient, such as indices."""
    aux: tuple[str, ...] = ()
    """Names of values that the forward returns behind its outputs, for rules only."""
    spare: tuple[str, ...] = ()
    """Those of ``aux`` that PyTorch does not keep: rules get ``None`` instead, and compute them again, where hooks
    on saved tensors or a later write may have changed what they follow from."""

    real_only: str = ""
    """ATen's name of an operator that PyTorch derives for real results only: with complex ones it refuses to record."""
    dynamic: tuple[str, ...] = ()
    """Operands whose values decide how large the result is."""
    layout: str = ""
    """Which strides results have: ``"operands"`` those of an iteration over the operands (what element-wise rows have
    by default), ``"swapped"`` those of one over them in the other order, ``"copy"`` those of a copy of the first one,
    ``"format"`` its memory format, ``"formats"`` that of either of two, ``"rows"``, ``"columns"`` (of each matrix);
    empty: as the forward returns them."""

    alike: bool = False
    """The gradients of all elements of a list have one shape and dtype: one shows whether they fit their receivers."""
    reorders: bool = False
    """Dimensions of the result may lie in memory in another order than the operand's, though ``layout`` is empty."""
    sparse: bool = False
    """The result is a sparse tensor, or the gradient of an operand is: as long as a node of the row lives, gradients
    are tensors (``execution.watchers``), since bare arrays cannot be sparse."""

    as_given: bool = False
    """The forward gets operands of dtypes that NumPy has not (``tensors.narrow``) as they are: it moves, casts or makes
    elements, or refuses them itself.  Others get them in single precision, and their results are rounded."""

    mixes: bool = False
    """Operands may be of several floating dtypes, though they are not promoted."""

    # -- views and in-place writes
    view: bool = False
    """The results share memory with the first tensor argument."""
    pieces: Callable[..., Any] | None = None
    """Of several views or other parts: indices, ``pieces(shape, *parameters)``; the forward takes them one by one."""
    toggles: int | None = 0
    """Of views: which of ``CONJUGATE`` and ``NEGATIVE`` is done to values when the result is read; ``None``: the
    operator needs values to which that was done, and makes no view of others."""
    inplace: bool = False
    """There is a method ``name_`` that writes the result into the first argument."""
    into: Callable[..., Any] | None = None
    """For element-wise rows: the forward that writes its result into the first operand's array."""
    in_place_node: str | None = None
    """Name of the node that the in-place form records, where it differs."""
    in_place_rules: dict[str, Rule] = {}
    """Rules of the in-place form by its result, where PyTorch does not keep the value that was overwritten."""

    # -- what nodes keep and show beyond what follows from the rules
    arrays: tuple[str, ...] = ()
    """Saved parameters that hold arrays (``name*``: a tuple of them and others): they are freed as tensors are."""
    keeps: tuple[str, ...] = ()
    """Values that PyTorch's node saves, and shows, in addition to what the rules here need."""
    for_hooks: dict[str, Rule] = {}
    """What hooks on saved tensors see under a name, worked out on arrays from what else the node keeps: what PyTorch
    keeps beyond what the rules here need, or keeps in another form. Its node shows it, too."""
    apart: bool = False
    """An operand that several rules ask for is kept only for those operands that want a gradient, as PyTorch keeps what
    one formula asks for; what several formulas ask for it keeps for any."""
    shown: dict[str, Any] = {}
    """Attributes that this row's nodes show in addition to ``nodes.shown_names``."""

    def _take_facts(self, facts: dict[str, Any]) -> None:
        """Set every fact: as the row says, or its default, on the row itself, where reading is fastest."""
        unknown = sorted(facts.keys() - _DEFAULTS.keys())
        if unknown:
            raise RowError(f"neither arguments nor facts: {', '.join(unknown)}")
        for name, default in _DEFAULTS.items():
            said = facts.get(name, default)
            setattr(self, name, tuple(said.split()) if name in _WORDS and isinstance(said, str) else said)


_DEFAULTS = {name: vars(RowFacts)[name] for name in RowFacts.__annotations__}
_WORDS = frozenset({"scalars", "constant", "results", "aux", "spare", "dynamic", "arrays", "keeps"})
