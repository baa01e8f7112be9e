"""How each PyTorch function is recorded: a row for every kind of call that is not a plain operation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....operators import Operator, Trait, canonical, inplace, operator

_SAME = frozenset({Trait.VIEW, Trait.COPY})
_OTHER = frozenset({Trait.INDEXING, Trait.EXPANDING, Trait.WRITING})
"""Traits of calls that may not return every entry of their first argument once."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How calls of one function are recorded."""

    op: str
    """The operator, by its name in events."""
    kind: str = "operation"
    """``operation``, ``cut``, ``read``, ``leaf``, ``hook``, ``switch`` or ``ignored``."""
    reason: str = ""
    """Reason of a cut, or kind of change of a leaf."""
    method: bool = False
    """Whether its first argument precedes a dot or operator."""
    written: str = ""
    """PyTorch's name for the function, without underscores around it and with one behind if it writes in place."""
    swapped: bool = False
    """Whether its first argument is the right operand."""
    operator: Operator = field(init=False)
    """The operator's traits."""
    rearranges: bool = field(init=False)
    """Whether it returns every entry of its first argument once, in some order."""

    def __post_init__(self) -> None:
        """Look up the operator."""
        traits = operator(self.op).traits
        object.__setattr__(self, "operator", operator(self.op))
        object.__setattr__(self, "rearranges", bool(traits & _SAME) and traits.isdisjoint(_OTHER))


_CUTS = {
    "detach": "detach",
    "item": "item",
    "tolist": "tolist",
    "numpy": "numpy",
    "dlpack": "numpy",
    "tensor": "copy",
    "deepcopy": "deepcopy",
}
"""Operator -> how values leave the graph."""
_HOOKS = {"register_hook": "tensor", "register_post_accumulate_grad_hook": "post-accumulate"}
_VIEWS = frozenset({"T", "mT", "H", "mH", "real", "imag"})
_ATTRIBUTES = {
    ("data", "__get__"): ("cut", "data"),
    ("data", "__set__"): ("leaf", "written"),
    ("grad", "__get__"): ("read", ""),
    ("grad", "__set__"): ("leaf", "grad-set"),
    ("requires_grad", "__set__"): ("leaf", "requires_grad"),
}
_SWAPPED = frozenset({"rsub", "rtruediv", "rdiv", "rpow", "rmatmul", "radd", "rmul", "rfloordiv", "rmod"})
_SWAPPED |= {"rlshift", "rrshift"}
"""Functions whose first argument is the right operand."""

IGNORED = Rule("", "ignored")
"""A call that makes nodes and is recorded elsewhere: a backward pass."""
FACT = Rule("fact", "ignored")
"""Reading a property of a tensor, or configuring PyTorch: it carries no values, makes no node and takes no time."""
_FACTS = frozenset(
    {"dtype", "device", "layout", "shape", "ndim", "itemsize", "nbytes", "output_nr", "name", "names", "volatile"}
    | {"grad_fn", "_grad_fn", "grad_dtype", "requires_grad", "retains_grad", "_version", "_base", "_cdata", "_grad"}
    | {"_backward_hooks", "_post_accumulate_grad_hooks", "__cuda_array_interface__"}
)
"""Attributes that are properties of a tensor."""
_ASKING = frozenset(
    {"dim", "size", "numel", "ndimension", "nelement", "stride", "storage_offset", "element_size", "get_device"}
    | {"data_ptr", "const_data_ptr", "storage", "untyped_storage", "storage_type", "has_names", "dim_order"}
    | {"dense_dim", "sparse_dim", "_nnz", "_dimI", "_dimV", "_is_view", "qscheme", "q_scale", "q_zero_point"}
    | {"q_per_channel_axis", "__len__", "__hash__", "__dir__", "__repr__", "__str__", "__format__", "__dlpack_device__"}
)
"""Methods that return properties, format values, or export memory whose later use is not observed."""
_SETTING = frozenset(
    {"retain_grad", "share_memory_", "record_stream", "__setstate__", "__reduce_ex__"}
    | {"result_type", "can_cast", "manual_seed", "get_default_dtype", "set_default_dtype"}
    | {"broadcast_shapes", "sym_not", "sym_float", "sym_int", "sym_max", "sym_min", "sym_ite"}
    | {"_clear_non_serializable_cached_data"}
)
"""Functions that change how a tensor is kept, or how PyTorch works, but no values."""
_NONE_TO_TELL = _ASKING | _SETTING


def judge(func: Any) -> Rule:
    """Return the rule of a function, from its name alone."""
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__", "__delete__"):
        holder = getattr(func, "__self__", None)
        return _judge_attribute(getattr(getattr(holder, "fget", holder), "__name__", ""), name)
    plain, op = name.strip("_"), canonical(name)
    if name in _NONE_TO_TELL or (name.startswith("is_") and op not in _CUTS):
        return FACT
    if name == "_set_grad_enabled":
        return Rule(plain, "switch")
    if name in ("backward", "grad") or not plain:
        return IGNORED
    if name in _HOOKS:
        return Rule(plain, "hook", _HOOKS[name], method=True)
    if name == "requires_grad_":
        return Rule(plain, "leaf", "requires_grad", method=True, written=name)
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
    """Return a program's name for a function: ``sub_`` also for ``a -= b``."""
    suffix = "_" if inplace(name) and op != "setitem" else ""
    return f"{op if name.startswith('__') or not name.strip('_') else name.strip('_')}{suffix}"


def _judge_attribute(holder: str, access: str) -> Rule:
    """Return the rule of reading or setting an attribute of a tensor."""
    if holder in _VIEWS and access == "__get__":
        return Rule(canonical(holder), method=True, written=holder)
    if holder == "grad" and access == "__delete__":
        return Rule(holder, "leaf", "grad-set", method=True)
    found = _ATTRIBUTES.get((holder, access))
    if found is None and (access != "__get__" or holder in _FACTS or holder.startswith("is_")):
        return FACT  # an attribute without a rule can only be set to something without values
    return Rule(holder, method=True) if found is None else Rule(holder, found[0], found[1], method=True)


UNCOUNTED = frozenset({"apply", "map", "map2"})
"""In-place writes that do not raise the version counter."""
INDEXED_WRITES = frozenset({"setitem", "index_put", "scatter", "index_copy"})
"""Writes of which only the last to each element takes effect."""
