"""Canonical names and traits of operators, whatever the spelling.

``torch.subtract``, ``a - b``, ``Tensor.sub_``, ``aten::sub.Tensor``, ``_foreach_sub_`` and ``SubBackward0`` are all
``sub``. Code that wants to know what a call does to values and gradients asks for its traits. An operator that is not
in the table keeps its own name and has no traits.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from .table import BOUNDS, END, FLAT, METHODS, SPELLINGS, TRAITS
from .traits import Trait

__all__ = ["END", "Operator", "Trait", "canonical", "inplace", "is_a", "is_view", "operator", "traits_of"]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator as recordings name it; ``operator("sub_")`` finds it."""

    name: str
    """PyTorch's shortest name for it, without underscores around it."""
    traits: frozenset[Trait] = frozenset()
    poles: tuple[float, ...] = ()
    """Values of one operand at which the slope is infinite or undefined (a norm's: all entries at once)."""
    domain: tuple[float, float] = (-END, END)
    """Values of that operand outside which the result is undefined."""
    operand: int = 0
    """The index of that operand among the arguments of ``torch.NAME``."""
    flat: tuple[float, float] | None = None
    """Results up to which and from which on the slope is zero, or rounds to zero."""

    def is_a(self, trait: Trait) -> bool:
        """Whether it has a trait."""
        return trait in self.traits


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _of_spellings() -> dict[str, str]:
    """Return every spelling in the tables -> the operator's canonical name."""
    known: dict[str, str] = {}
    for own, *others in map(str.split, filter(None, SPELLINGS.split("\n"))):
        known.update(dict.fromkeys((own, *others), own))
    for listed in TRAITS.values():
        for name in listed.split():
            known.setdefault(name, name)
    return known


def _of_traits() -> dict[str, frozenset[Trait]]:
    """Return operator -> its traits."""
    found: dict[str, set[Trait]] = {}
    for trait, listed in TRAITS.items():
        for name in listed.split():
            found.setdefault(name, set()).add(trait)
    for name in TRAITS[Trait.VIEW].split():
        found[f"{name}_copy"] = found[name] - {Trait.VIEW, Trait.EXPANDING}
    return {name: frozenset(traits) for name, traits in found.items()}


_KNOWN = _of_spellings()
_TRAITS_OF = _of_traits()
_IN_NODES = {name.replace("_", ""): own for name, own in _KNOWN.items()}
"""Spellings of node names in lower case -> canonical name: ``maxpool2dwithindices``."""
_FAMILIES = ("foreach_", "fused_", "special_", "linalg_", "fft_")
"""Prefixes that say where a function is defined, not what it does."""
_UPDATES = _words("add sub mul truediv div floordiv mod pow matmul and or xor lshift rshift")
"""Python's operators that have a form such as ``+=``."""

_COPYING = _words("index unsafeview unsafechunk unsafesplit unsafesplitwithsizes")
"""ATen's names for what is spelled like a view and copies: ``x[indices]``."""

_OF_NODE = re.compile(r"(?:.*::)?(\w+?)Backward\d+$")
_CALLED = re.compile(r"[\w.:]+")
_OF_ATEN = re.compile(r"(?:.*::|(?:torch\.)?(?:ops\.)?aten\.)(\w+)")
"""ATen's names, which end with the overload."""


def inplace(name: str) -> bool:
    """Whether a name is an in-place operator, which writes to its first tensor: ``sub_``, ``__isub__``, ``setitem``."""
    word = _word(name)
    plain = word.strip("_")
    if plain == "setitem" or (plain[:1] == "i" and plain[1:] in _UPDATES):
        return True
    return word.endswith("_") and not word.startswith("__")


def _word(name: str) -> str:
    """Return the bare name, without its module, overload and arguments."""
    found = _CALLED.match(name)
    called = found[0] if found else name
    of_aten = _OF_ATEN.match(called)
    if of_aten is not None:
        return of_aten[1]
    parts = called.removeprefix("torch.").removeprefix("fft.").split(".")
    known = [part for part in parts if _plain(part) in _KNOWN]
    return known[-1] if known else parts[-1]


def _plain(word: str) -> str:
    """Return a name without the prefixes and suffixes of its form."""
    plain = word.strip("_")
    for family in _FAMILIES:
        plain = plain.removeprefix(family)
    return plain.strip("_")


@functools.lru_cache(maxsize=10_000)
def canonical(name: str) -> str:
    """Return the canonical name of an operator; an unknown one keeps its name, without outer underscores."""
    of_node = _OF_NODE.match(name)
    if of_node is not None:
        squashed = of_node[1].lower().removeprefix("linalg").removeprefix("special").removeprefix("fft")
        return _IN_NODES.get(squashed, of_node[1])
    word = _word(name)
    plain = _plain(word)
    known = METHODS.get(plain) if word.startswith("__") else None
    return known or _KNOWN.get(plain, plain)


@functools.lru_cache(maxsize=10_000)
def operator(name: str) -> Operator:
    """Return the operator for a name in any spelling; an unknown one has no traits."""
    own = canonical(name)
    poles, low, high, operand = BOUNDS.get(own, ((), -END, END, 0))
    return Operator(own, _TRAITS_OF.get(own, frozenset()), poles, (low, high), operand, FLAT.get(own))


def traits_of(name: str) -> frozenset[Trait]:
    """Return the traits of an operator, by any spelling of its name."""
    return operator(name).traits


def is_a(name: str, *traits: Trait) -> bool:
    """Whether an operator has one of these traits."""
    return not operator(name).traits.isdisjoint(traits)


def is_view(name: str) -> bool:
    """Whether the result of an operator, by its node's name, shares memory with its operand."""
    of_node = _OF_NODE.match(name)
    return is_a(name, Trait.VIEW) and (of_node is None or of_node[1].lower() not in _COPYING)
