"""Deep copies of views and of subclasses, formats of subclasses: V-05 beside PyTorch."""

from __future__ import annotations

import copy
from typing import Any

from both_engines import differential, raises


def _place(t: Any) -> list[Any]:
    return [t, t.storage_offset(), t.stride(), t.untyped_storage().nbytes(), t._is_view(), t._version]


@differential
def test_copies_of_views_keep_their_place(torch: Any) -> Any:
    """V-05: all of the memory is copied, and the copy lies in it as the view did."""
    a = torch.arange(6.0).view(2, 3)
    views = [a[1], a.t(), a[:, 1:], a[:1].expand(4, 3), a[:, ::2], (a * 2)[1].detach(), torch.ones(4)[1:]]
    return [_place(copy.deepcopy(view)) for view in views]


@differential
def test_copied_together_share_memory_but_no_version(torch: Any) -> Any:
    """V-05: views of one tensor that are copied in one go share the copied memory; each counts its own writes."""
    a = torch.arange(6.0).view(2, 3)
    one, other = copy.deepcopy((a, a[1]))
    other[0] = 7
    first, second = copy.deepcopy((a[0], a[1]))
    shared = first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
    return [_place(one), _place(other), _place(first), _place(second), shared]


@differential
def test_a_subclass_is_copied_through_new_empty(torch: Any) -> Any:
    """V-05: a subclass whose ``new_empty`` makes plain tensors cannot be copied; a parameter's subclass can."""

    class Plain(torch.Tensor):  # type: ignore[misc]
        pass

    class Own(torch.Tensor):  # type: ignore[misc]
        def new_empty(self, *args: Any, **kwargs: Any) -> Any:
            return super().new_empty(*args, **kwargs).as_subclass(Own)

    class Weight(torch.nn.Parameter):  # type: ignore[misc]
        pass

    refused = raises("only works for subclass types that implement new_empty", copy.deepcopy, Plain([1.0]))
    own = torch.ones(2).as_subclass(Own)
    own.note = 3
    copied = copy.deepcopy(own)
    weight = copy.deepcopy(Weight(torch.ones(1)))
    return [refused, type(copied).__name__, copied.note, type(weight).__name__]


@differential
def test_only_plain_tensors_are_formatted_as_numbers(torch: Any) -> Any:
    """V-05: a format is for a plain tensor without dimensions; parameters and subclasses have none."""

    class Plain(torch.Tensor):  # type: ignore[misc]
        pass

    one = torch.tensor(1.0)
    others = [torch.nn.Parameter(one), one.as_subclass(Plain), torch.ones(2)]
    refused = [raises("unsupported format string passed to", format, other, ".2f") for other in others]
    return [format(one, ".2f"), f"{one}", f"{one.as_subclass(Plain)}", refused]
