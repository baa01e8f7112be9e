"""Tensor methods of PyTorch that do not exist here: using one raises an error that names alternatives.

A ``__getattr__`` on ``Tensor`` could suggest a name for every misspelling, but with one CPython does not specialize
attributes of tensors, and each operation gets slower. So PyTorch's known names are properties that raise.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from ...table.public import METHODS, PROPERTIES

_INSTEAD = {
    "there is only the CPU, use the tensor itself": "hpu ipu mtia xpu pin_memory record_stream to_mkldnn",
    "NumPy has no such dtype, use float16 or float32": "chalf",
    "of sparse tensors only COO and CSR are here (to_sparse, to_sparse_csr)": (
        "to_sparse_csc to_sparse_bsr to_sparse_bsc sparse_resize_ "
        "sparse_resize_and_clear_ ccol_indices row_indices to_padded_tensor"
    ),
    "there is no quantization": (
        "dequantize int_repr q_scale q_zero_point q_per_channel_axis q_per_channel_scales q_per_channel_zero_points "
        "qscheme"
    ),
    "": "const_data_ptr resize_as_sparse_ slice_inverse storage_type",
    "PyTorch has removed it": "reinforce",
}


def _absent(name: str, why: str) -> Callable[[Any], Any]:
    def ask(self: Any) -> Any:
        near = difflib.get_close_matches(name, METHODS, 3, 0.7)
        hint = "".join([f"; {why}" if why else "", f"; the nearest names are {', '.join(near)}" if near else ""])
        raise AttributeError(f"'Tensor' object has no attribute '{name}'{hint}")

    return ask


for _why, _names in _INSTEAD.items():
    for _name in _names.split():
        if _name not in METHODS:
            PROPERTIES[_name] = _absent(_name, _why)

_UNLISTED = {name for names in _INSTEAD.values() for name in names.split() if name not in METHODS} | {"volatile"}


def listed(self: Any) -> list[str]:
    """The names that ``dir`` gives: of what is there."""
    return sorted(set(object.__dir__(self)) - _UNLISTED)


METHODS["__dir__"] = listed
