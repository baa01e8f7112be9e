"""How each PyTorch function is recorded: a row for every kind of call that is not a plain operation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....operators import Operator, canonical, inplace, operator


@dataclass(frozen=True, slots=True)
class Rule:
    """One function as recordings see it."""

    op: str
    """The operator, as events name it."""
    kind: str = "operation"
    """``operation``, ``cut``, ``read``, ``leaf``, ``hook`` or ``ignored``."""
    reason: str = ""
    """Reason of a cut, or which change of a leaf."""
    method: bool = False
    """Whether its first argument stands before a dot or operator."""
    written: str = ""
    """What PyTorch calls the function, without underscores around it and with one behind if it writes in place."""
    swapped: bool = False
    """Whether its first argument stands on the right: those of its calls are turned round."""
    operator: Operator = field(init=False)
    """What it does."""

    def __post_init__(self) -> None:
        """Look it up."""
        object.__setattr__(self, "operator", operator(self.op))


_CUTS = {
    "detach": "detach",
    "item": "item",
    "tolist": "tolist",
    "numpy": "numpy",
    "tensor": "copy",
    "deepcopy": "deepcopy",
}
"""Operator -> how values leave the graph by it."""
_HOOKS = {"register_hook": "tensor", "register_post_accumulate_grad_hook": "post-accumulate"}
_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag"})
_ATTRIBUTES = {
    ("data", "__get__"): ("cut", "data"),
    ("data", "__set__"): ("leaf", "written"),
    ("grad", "__get__"): ("read", ""),
    ("grad", "__set__"): ("leaf", "grad-set"),
    ("requires_grad", "__set__"): ("leaf", "requires_grad"),
}
_IGNORED = frozenset(
    {
        "backward",
        "grad",
        "size",
        "dim",
        "ndimension",
        "stride",
        "storage_offset",
        "numel",
        "nelement",
        "element_size",
        "data_ptr",
        "storage",
        "untyped_storage",
        "typed_storage",
        "get_device",
        "type",
        "retain_grad",
        "has_names",
        "names",
        "align_to",
        "len",
        "format",
        "repr",
        "str",
        "dir",
        "hash",
        "iter",
        "reduce_ex",
        "setstate",
        "array_priority",
        "result_type",
        "can_cast",
        "iscomplexobj",
        "manual_seed",
        "set_grad_enabled",
        "get_default_dtype",
        "set_default_dtype",
        "broadcast_shapes",
    }
)
"""Functions whose calls are not worth an event."""
_SWAPPED = frozenset({"rsub", "rtruediv", "rdiv", "rpow", "rmatmul", "radd", "rmul", "rfloordiv", "rmod"})
_SWAPPED |= {"rlshift", "rrshift"}
"""Functions whose first argument stands on the right."""

IGNORED = Rule("", "ignored")
FACT = Rule("fact", "ignored")
"""Reading what a tensor is, which makes no node and takes no time."""
_FACTS = frozenset({"dtype", "device", "layout", "shape", "ndim", "itemsize", "nbytes", "is_leaf", "output_nr"})


def judge(func: Any) -> Rule:
    """Say what a function is, from its name alone."""
    name = getattr(func, "__name__", "")
    holder = getattr(getattr(func, "__self__", None), "__name__", "")
    if name in ("__get__", "__set__", "__delete__"):
        return _judge_attribute(holder, name)
    plain = name.strip("_")
    if plain in ("dim", "size", "numel"):
        return FACT
    if name.startswith("is_") or plain in _IGNORED or not plain:
        return IGNORED
    if name in _HOOKS:
        return Rule(plain, "hook", _HOOKS[name], method=True)
    if name == "requires_grad_":
        return Rule(plain, "leaf", "requires_grad", method=True, written=name)
    op = canonical(name)
    reason = _CUTS.get(op, "")
    return Rule(
        op,
        "cut" if reason else "operation",
        reason,
        method="Tensor" in str(getattr(func, "__qualname__", "")),
        written=_written(name, op),
        swapped=plain in _SWAPPED,
    )


def _written(name: str, op: str) -> str:
    """Return what a program calls a function: ``sub_`` also for ``a -= b``."""
    suffix = "_" if inplace(name) and op != "setitem" else ""
    return f"{op if name.startswith('__') or not name.strip('_') else name.strip('_')}{suffix}"


def _judge_attribute(holder: str, access: str) -> Rule:
    """Say what reading or setting an attribute of a tensor is."""
    if holder in _VIEWS and access == "__get__":
        return Rule(canonical(holder), method=True, written=holder)
    if holder == "grad" and access == "__delete__":
        return Rule(holder, "leaf", "grad-set", method=True)
    if access == "__get__" and (holder in _FACTS or holder.startswith("is_")):
        return FACT
    found = _ATTRIBUTES.get((holder, access))
    return IGNORED if found is None else Rule(holder, found[0], found[1], method=True)


INDEXED_WRITES = frozenset({"setitem", "index_put", "scatter", "index_copy"})
"""Writes of which only the last to each place counts."""
