"""``Tag``: marks that an operator may carry; ``inplace`` and ``out`` change how it is declared and checked."""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Tag(enum.Enum):
    """PyTorch's operator tags."""

    __module__ = "retrograd"

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19


def as_tags(tags: Tag | Iterable[Tag] | None) -> tuple[Tag, ...]:
    """One tag, several or none as a tuple; ``inplace`` and ``out`` exclude each other (``AssertionError``)."""
    found = () if tags is None else (tags,) if isinstance(tags, Tag) else tuple(tags)
    if Tag.inplace in found and Tag.out in found:
        raise AssertionError("torch.Tag.inplace and torch.Tag.out are mutually exclusive")
    return found
