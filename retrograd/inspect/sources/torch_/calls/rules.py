"""How each PyTorch function is recorded: a row for every kind of call that is not a plain operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rule:
    """One function as recordings see it."""

    op: str
    """Its name in events: torch's, without underscores around it (``getitem``) and with one behind if in place."""
    kind: str = "operation"
    """``operation``, ``cut``, ``read``, ``leaf``, ``hook`` or ``ignored``."""
    reason: str = ""
    """Reason of a cut, or which change of a leaf."""
    method: bool = False
    """Whether its first argument stands before a dot or operator."""


_CUTS = {
    "detach": "detach",
    "detach_": "detach",
    "item": "item",
    "float": "item",
    "int": "item",
    "bool": "item",
    "index": "item",
    "complex": "item",
    "tolist": "tolist",
    "numpy": "numpy",
    "array": "numpy",
    "tensor": "copy",
    "as_tensor": "copy",
    "deepcopy": "deepcopy",
}
_SCALARS = frozenset({"__float__", "__int__", "__bool__", "__index__", "__complex__"})
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
_RENAMED = {
    "truediv": "div",
    "rtruediv": "rdiv",
    "itruediv": "div_",
    "iadd": "add_",
    "isub": "sub_",
    "imul": "mul_",
    "idiv": "div_",
    "ipow": "pow_",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "invert": "bitwise_not",
}
SWAPPED = frozenset({"rsub", "rdiv", "rpow", "rmatmul", "radd", "rmul", "rfloordiv", "rmod"})
"""Operators whose first argument stands on the right."""

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
    op = name.strip("_") + ("_" if name.endswith("_") and not name.endswith("__") else "")
    if op in ("dim", "size", "numel"):
        return FACT
    if name.startswith("is_") or op in _IGNORED or not op:
        return IGNORED
    if name in _HOOKS:
        return Rule(op, "hook", _HOOKS[name], method=True)
    if name == "requires_grad_":
        return Rule(op, "leaf", "requires_grad", method=True)
    method = "Tensor" in str(getattr(func, "__qualname__", ""))
    op = _RENAMED.get(op, op) if name.startswith("__") else op
    reason = _CUTS.get(op, "")
    if op in ("float", "int", "bool") and name not in _SCALARS:
        reason = ""  # the cast of that name, which returns a tensor
    return Rule(op, "cut" if reason else "operation", reason, method)


def _judge_attribute(holder: str, access: str) -> Rule:
    """Say what reading or setting an attribute of a tensor is."""
    if holder in _VIEWS and access == "__get__":
        return Rule(holder, method=True)
    if holder == "grad" and access == "__delete__":
        return Rule(holder, "leaf", "grad-set", method=True)
    if access == "__get__" and (holder in _FACTS or holder.startswith("is_")):
        return FACT
    found = _ATTRIBUTES.get((holder, access))
    return IGNORED if found is None else Rule(holder, found[0], found[1], method=True)


NONDIFFERENTIABLE_CASTS = frozenset({"to", "long", "int", "short", "bool", "byte", "char", "type_as", "type"})
COPIED_INDEXED = frozenset({"scatter", "index_put", "index_copy"})
"""The same without writing into their first argument."""
IN_PLACE_INDEXED = frozenset({"setitem", "index_put_", "scatter_", "index_copy_"})
"""Writes of which only the last to each place counts."""
