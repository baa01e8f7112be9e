"""``torch.utils.flop_counter``: multiplications and additions of matrix products, convolutions and attention.

A multiplication with the addition after it counts as two.  Other operators are not counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any, Final

from .. import ops
from ..engine.overriding.aten import OpOverloadPacket
from ..engine.overriding.dispatch_modes import TorchDispatchMode
from ..engine.pytree.trees import tree_map
from ..engine.tensors.tensor import Tensor
from ..engine.warning import warn
from .module_tracker import ModuleTracker

Formula = Callable[..., int]
aten: Final[Any] = ops.aten
flop_registry: Final[dict[Any, Formula]] = {}
"""Operator -> its count, from arguments and ``out_val=``."""


def _shape(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


def _of_values(formula: Formula) -> Formula:
    """A formula of shapes as one of tensors."""
    if getattr(formula, "_get_raw", False):
        return formula

    @wraps(formula)
    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        shapes, named, out_shape = tree_map(_shape, (args, kwargs, out_val))
        return formula(*shapes, out_shape=out_shape, **named)

    return counted


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Declare how operators are counted: from shapes and ``out_shape=``; ``get_raw``: from tensors and ``out_val=``."""

    def register(formula: Formula) -> Formula:
        if get_raw:
            formula._get_raw = True  # type: ignore[attr-defined]
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = _of_values(formula)
        return formula

    return register


# -- formulas


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A product of two matrices."""
    return 2 * int(prod(a_shape)) * int(b_shape[-1])


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A product; what is added to it does not count."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Products of a batch."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Products of a batch; what is added to them does not count."""
    return mm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """Each entry of the weight meets each place of the smaller side, for each sample of the batch."""
    return 2 * int(x_shape[0]) * int(prod((x_shape if transposed else out_shape)[2:])) * int(prod(w_shape))


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Any, w_shape: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    *args: Any, out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """A convolution, also a transposed one."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """The two products of attention."""
    lengths = int(query_shape[-2]) * int(key_shape[-2])
    return 2 * int(prod(query_shape[:-2])) * lengths * (int(query_shape[-1]) + int(value_shape[-1]))


@register_flop_formula(aten._scaled_dot_product_flash_attention_for_cpu)
def sdpa_flop(
    query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """Attention in one operator."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


_CONVOLUTION_BACKWARD: Final[dict[str, Formula]] = {
    "_conv": lambda x, weight, *how, out_shape: conv_flop_count(x, weight, out_shape),
    "_conv_input": lambda g, weight, *how, out_shape: conv_flop_count(g, weight, g),
    "_conv_weight": lambda g, x, *how, out_shape: conv_flop_count(g, out_shape, g),
}
"""The rows that gradients of convolutions are made of, counted as ``aten.convolution_backward``."""


# -- the mode


class FlopCounterMode:
    """A context that counts what is computed in it, by modules and operators, and prints a table at its end.

    ``custom_mapping`` has formulas of further operators; ``depth`` is how deep modules are listed.
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None
    ) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        self.flop_registry = {**flop_registry, **{op: _of_values(f) for op, f in (custom_mapping or {}).items()}}
        self.mod_tracker = ModuleTracker()
        self.mode: _Counting | None = None
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")

    def get_total_flops(self) -> int:
        """The sum of all."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Module -> operator -> count."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table."""
        return _table(self, 999999 if self.depth is None else self.depth if depth is None else depth)

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        assert self.mode is not None
        self.mode.__exit__(*exc)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count_flops(self, func_packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
        if func_packet in self.flop_registry:
            self._add(func_packet, self.flop_registry[func_packet](*args, **kwargs, out_val=out))
        return out

    def _add(self, operator: Any, count: int) -> None:
        for module in set(self.mod_tracker.parents):
            self.flop_counts[module][operator] += count


class _Counting(TorchDispatchMode):
    """Hears the operators for a counter."""

    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        backward = _CONVOLUTION_BACKWARD.get(getattr(getattr(func, "row", None), "name", ""))
        if backward is None:
            return self.counter._count_flops(func.overloadpacket, out, args, kwargs or {})
        self.counter._add(aten.convolution_backward, backward(*map(_shape, args), out_shape=out.shape))
        return out


# -- the table

suffixes: Final = ["", "K", "M", "B", "T"]
"""Thousands, millions and so on."""


def get_suffix_str(number: int) -> str:
    """The suffix for a count, such that 2 to 4 digits remain before the point."""
    return suffixes[max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """A count with its suffix."""
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """A share in percent."""
    return f"{num / denom:.2%}" if denom else "0%"


def _table(counter: FlopCounterMode, depth: int) -> str:
    total = counter.get_total_flops()
    unit = get_suffix_str(total)

    def lines(module: str) -> list[tuple[str, str, str]]:
        counts = counter.flop_counts[module]
        entries = [(module, sum(counts.values())), *[(f"- {operator}", n) for operator, n in counts.items()]]
        return [(name, convert_num_with_suffix(n, unit), convert_to_percent_str(n, total)) for name, n in entries]

    modules = [name for name in sorted(counter.flop_counts) if name != "Global" and name.count(".") + 1 <= depth]
    rows = [line for module in modules for line in lines(module)]
    subsumed = any(sum(counter.flop_counts[module].values()) >= total for module in modules)
    if "Global" in counter.flop_counts and not subsumed:
        rows = lines("Global") + rows
    return _aligned([("Module", "FLOP", "% Total"), *(rows or [("Global", "0", "0%")])])


def _aligned(rows: list[tuple[str, str, str]]) -> str:
    """The first row as a heading with room around it; names to the left, numbers to the right."""
    first, second, third = (max(len(column[0]) + 2, *map(len, column)) for column in zip(*rows, strict=True))
    rows.insert(1, ("-" * first, "-" * second, "-" * third))
    return "\n".join(f"{a:<{first}}  {b:>{second}}  {c:>{third}}" for a, b, c in rows)


__all__ = ["FlopCounterMode", "register_flop_formula"]
