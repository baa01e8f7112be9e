"""``ops.aten``: the operators under the names of PyTorch's dispatcher."""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from ..core.base import TensorBase
from ..core.registry import OPS
from .spelling import unspelled
from .tags import Tag

# What PyTorch's dispatcher calls the operators behind our rows.

_NAMED: Final = {
    "_sum_dim": "sum.dim_IntList", "_prod_dim": "prod.dim_int", "_pow_scalar": "pow.Tensor_Scalar",
    "_pow_tensor": "pow.Tensor_Tensor", "_pow_base": "pow.Scalar", "_div_rounded": "div.Tensor_mode",
    "floor_divide": "floor_divide.default", "_index": "index.Tensor",
    "_softmax_back": "_softmax_backward_data.default", "_log_softmax_back": "_log_softmax_backward_data.default",
    "_nll_backward": "nll_loss_backward.default",
    "_slice": "slice.Tensor", "_where": "where.self", "_split": "split.Tensor", "_unsafe_split": "unsafe_split.Tensor",
    "_attention": "_scaled_dot_product_flash_attention_for_cpu.default",
    "_layer_norm": "native_layer_norm.default", "_nll_loss": "nll_loss_forward.default",
    "_vector_norm": "linalg_vector_norm.default", "_clamp_scalar": "clamp.default", "_clamp_tensors": "clamp.Tensor",
    "_var": "var.correction", "_std": "std.correction", "_median": "median.dim", "_nanmedian": "nanmedian.dim",
    "select": "select.int", "transpose": "transpose.int",
    "unbind": "unbind.int", "masked_fill": "masked_fill.Scalar", "_scatter": "scatter.src",
    "_scatter_number": "scatter.value", "_scatter_reduce": "scatter_reduce.two", "dist": "dist.default",
    "_index_fill_number": "index_fill.int_Scalar", "_index_fill_tensor": "index_fill.int_Tensor",
    "_prelu_kernel": "_prelu_kernel.default", "logsigmoid": "log_sigmoid_forward.default",
    "_bce_with_logits": "binary_cross_entropy_with_logits.default", "_sort_stable": "sort.stable",
    "_solve": "_linalg_solve_ex.default", "_solve_triangular": "linalg_solve_triangular.default",
    "_inv": "linalg_inv_ex.default", "_cholesky_ex": "linalg_cholesky_ex.default", "_eigh": "_linalg_eigh.default",
    "_eig": "linalg_eig.default", "_lstsq": "linalg_lstsq.default", "_lu_factor": "linalg_lu_factor_ex.default",
    "_lu": "linalg_lu.default", "_fft_c2c": "_fft_c2c.default", "_fft_r2c": "_fft_r2c.default",
    "_fft_c2r": "_fft_c2r.default", "_MaxPool2DWithIndices": "max_pool2d_with_indices.default",
    "_MaxPool3DWithIndices": "max_pool3d_with_indices.default", "_AdaptiveMaxPool2D": "adaptive_max_pool2d.default",
    "_AdaptiveMaxPool3D": "adaptive_max_pool3d.default", "_round_decimals": "round.decimals", "_xlogy": "xlogy.Tensor",
    "_xlogy_self_number": "xlogy.Scalar_Self", "_xlogy_other_number": "xlogy.Scalar_Other",
    "select_copy": "select_copy.int", "slice_copy": "slice_copy.Tensor", "transpose_copy": "transpose_copy.int",
    "_split_copy": "split_copy.Tensor", "_unbind_copy": "unbind_copy.int",
    "bitwise_left_shift": "bitwise_left_shift.Tensor", "bitwise_right_shift": "bitwise_right_shift.Tensor",
}  # fmt: skip
"""Row -> operator and overload, where no rule below says it."""
_SUFFIXES: Final = {"_number": "Scalar", "_tensor": "Tensor", "_all": "default", "_dim": "dim", "_dims": "dims"}
"""How rows are called that stand for one overload of several."""
_UNDERSCORED: Final = (
    "softmax", "log_softmax", "to_copy", "reshape_alias", "unsafe_view", "safe_softmax", "adaptive_avg_pool2d",
    "adaptive_avg_pool3d", "trilinear", "fused_rms_norm", "conj", "neg_view", "upsample_nearest_exact1d",
    "upsample_nearest_exact2d", "upsample_nearest_exact3d", "upsample_bilinear2d_aa", "upsample_bicubic2d_aa",
)  # fmt: skip
"""Operators that have a leading underscore in PyTorch as well."""
_SPECIAL: Final = (
    "erfcx", "ndtr", "ndtri", "log_ndtr", "zeta", "entr", "i0e", "i1", "i1e", "bessel_", "modified_bessel_",
    "scaled_modified_bessel_", "spherical_bessel_", "airy_ai", "chebyshev_", "shifted_chebyshev_", "hermite_",
    "laguerre_", "legendre_", "xlog1py",
)  # fmt: skip
"""How the operators begin that PyTorch calls ``special_…``."""


def names_of(row: Any) -> list[str]:
    """Every ``operator.overload`` of a row; if two, the first is for tensors, the second for numbers."""
    if row.name in _NAMED:
        return [_NAMED[row.name]]
    name = row.name.removeprefix("_")
    overload = "default"
    for suffix, meant in _SUFFIXES.items():
        if row.name.startswith("_") and name.endswith(suffix):
            name, overload = name.removesuffix(suffix), meant
            break
    if name.startswith(_SPECIAL):
        return [f"special_{name}.{overload}"]
    if row.name.startswith("_") and name in _UNDERSCORED:
        return [f"_{name}.{overload}"]
    return [f"{name}.Tensor", f"{name}.Scalar"] if _takes_number(row) else [f"{name}.{overload}"]


def _takes_number(row: Any) -> bool:
    elementwise = row.public and bool(row.promote) and row.numbers and len(row.tensor_names) == 2
    return elementwise and not row.lists


_ALWAYS_TENSOR: Final = frozenset({"add", "sub", "mul", "div"})
"""Operators that meet numbers as tensors."""


class Named(NamedTuple):
    """An argument of an operator."""

    name: str


class OverloadSchema:
    """What is declared of an overload: names, and whether it writes to its first argument."""

    def __init__(self, name: str, overload_name: str, arguments: Iterable[str], is_mutable: bool) -> None:
        self.name, self.overload_name, self.is_mutable = name, overload_name, is_mutable
        self.arguments = [Named(argument) for argument in arguments]


class OpOverload(ABC):
    """One overload of an operator, built in or custom."""

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator."""


class OpOverloadPacket(ABC):
    """All overloads of an operator, built in or custom."""

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator."""


@OpOverload.register
class RowOverload:
    """One overload of an operator, such as ``ops.aten.mm.default``; a call is a call of its row."""

    namespace = "aten"
    writes = False

    def __init__(self, opname: str, overload: str, row: Any) -> None:
        self.opname, self.overload, self.row = opname, overload, row
        self.__name__ = f"{opname}.{overload}"

    def name(self) -> str:
        """``aten::mm``, with the overload if it is not the default one."""
        return f"aten::{self.opname}" + ("" if self.overload == "default" else f".{self.overload}")

    @property
    def _opname(self) -> str:
        return self.opname

    @property
    def _overloadname(self) -> str:
        return self.overload

    @property
    def _schema(self) -> OverloadSchema:
        return OverloadSchema(
            f"aten::{self.opname}", self.overload.replace("default", ""), self.row.params, self.writes
        )

    @property
    def is_view(self) -> bool:
        """Whether results share memory with the first operand."""
        return bool(getattr(self.row, "view", False)) and not self.writes

    @property
    def tags(self) -> list[Any]:
        """Marks: here only that an operator changes the shape of what it writes."""
        return [Tag.inplace_view] if self.writes and getattr(self.row, "view", False) else []

    @property
    def overloadpacket(self) -> RowPacket:
        """All overloads together."""
        return packet(self.opname)

    def __str__(self) -> str:
        return f"aten.{self.opname}.{self.overload}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self.opname}', overload='{self.overload}')>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        meanwhile = None if interceptor is None else interceptor(self)
        if meanwhile is not None:
            return meanwhile(*args, **kwargs)
        if self.opname in forward:
            return forward[self.opname](*args, **kwargs)
        args, kwargs = unspelled(self.row, args, kwargs)
        return with_aux(self.row, args, kwargs) if self.row.aux else self.row.call(*args, **kwargs)


class FunctionOverload(RowOverload):
    """One overload of an operator that is not a row but a function."""

    def __init__(self, opname: str, overload: str, function: Callable[..., Any]) -> None:
        super().__init__(opname, overload, types.SimpleNamespace(call=function, name=opname, aux=(), params=()))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.row.call(*args, **kwargs)


class WritingOverload(RowOverload):
    """One overload of an operator that writes to its first argument, such as ``ops.aten.mul_.Tensor``."""

    writes = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        meanwhile = None if interceptor is None else interceptor(self)
        method = getattr(args[0], self.opname) if meanwhile is None else None
        return meanwhile(*args, **kwargs) if method is None else method(*args[1:], **kwargs)  # type: ignore[misc]


interceptor: Callable[[RowOverload], Callable[..., Any] | None] | None = None
"""What a call of an overload is while a mode is asked (``dispatch_modes`` sets it); None: what it always is."""


def _alone(row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Replaced by the dispatcher."""
    return row.call(*args, **kwargs)


with_aux: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] = _alone
"""Calls a row that computes more than its result (as ``native_layer_norm`` does), and returns that as well."""


@OpOverloadPacket.register
class RowPacket:
    """``ops.aten.mm``: all overloads of an operator as attributes; a call is a call of the first."""

    def __init__(self, opname: str, rows: dict[str, Any], kind: type[RowOverload] = RowOverload) -> None:
        self.__name__ = opname
        self._made = {name: kind(opname, name, row) for name, row in rows.items()}

    def overloads(self) -> list[str]:
        """Names of the overloads."""
        return list(self._made)

    def __getattr__(self, name: str) -> RowOverload:
        made: dict[str, RowOverload] = self.__dict__["_made"]
        if name in made:
            return made[name]
        if f"{self.__name__}.{name}" in forward:
            return made.setdefault(name, FunctionOverload(self.__name__, name, forward[f"{self.__name__}.{name}"]))
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return next(iter(self._made.values()))(*args, **kwargs)

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class FunctionPacket(RowPacket):
    """``ops.aten.softmax``, which is not a row but a function: every overload is a call of it."""

    def __init__(self, opname: str, function: Callable[..., Any]) -> None:
        super().__init__(opname, {"default": function}, FunctionOverload)

    def __getattr__(self, name: str) -> RowOverload:
        if name.startswith("_"):
            raise AttributeError(name)
        made: dict[str, RowOverload] = self.__dict__["_made"]
        return made.setdefault(name, FunctionOverload(self.__name__, name, made["default"].row.call))


_PACKETS: dict[str, RowPacket] = {}
forward: dict[str, Callable[..., Any]] = {}
"""Functions with PyTorch's arguments for operators whose rows have others (the face ``ops`` fills it)."""
functions: dict[str, Callable[..., Any]] = {}
"""Public functions, used for operators that are not rows (the face ``ops`` fills it)."""


def overload_of(row: Any, args: tuple[Any, ...], written: str = "") -> RowOverload:
    """What a call of a row with these arguments is called; ``written`` is ``"_"`` if it writes to the first one."""
    names = ["view.default"] if row.name == "_reshape_alias" else names_of(row)  # what the dispatcher has for both
    number = len(names) == 2 and not isinstance(args[1], TensorBase) and row.name not in _ALWAYS_TENSOR
    opname, _, overload = names[1 if number else 0].partition(".")
    overload = overload.removeprefix("Tensor_") if written else overload
    found: RowOverload = getattr(packet(opname + written), overload)
    return found


def packet(opname: str) -> RowPacket:
    """All overloads of an operator; ``AttributeError`` where no row has that name."""
    if not _PACKETS:
        rows: dict[str, dict[str, Any]] = {}
        for row in OPS.values():
            for full in names_of(row):
                name, _, overload = full.partition(".")
                rows.setdefault(name, {}).setdefault(overload, row)
        _PACKETS.update({name: RowPacket(name, overloads) for name, overloads in rows.items()})
        _PACKETS.update({f"{name}_": _writing(f"{name}_", found) for name, found in rows.items()})
    if opname not in _PACKETS and opname in functions:
        _PACKETS[opname] = FunctionPacket(opname, functions[opname])
    if opname not in _PACKETS:
        raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{opname}'")
    return _PACKETS[opname]


def _writing(opname: str, rows: dict[str, Any]) -> RowPacket:
    """The overloads that write to their first operand; that one is not named in them."""
    return RowPacket(opname, {name.removeprefix("Tensor_"): row for name, row in rows.items()}, WritingOverload)


class AtenNamespace(types.ModuleType):
    """``ops.aten``."""

    def __getattr__(self, name: str) -> RowPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        return packet(name)

    def __dir__(self) -> list[str]:
        packet("mm")
        return sorted(_PACKETS)


aten = AtenNamespace("retrograd.ops.aten", "The operators of the engine by their names in PyTorch's dispatcher.")
